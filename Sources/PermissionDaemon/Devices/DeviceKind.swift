// What counts as a device of one permission. Each conforming type stands in a file of its own; `DeviceKinds` lists them.

import DBus
import PermissionModel

/// How the nodes of a kind of device are opened for apps that do not say.
enum NodeUse {
    /// There is no node that an app could be handed.
    case none
    case reading
    /// What V4L2 buffers and ALSA's mapped control page need.
    case readingAndWriting
}

@LoopActor
protocol DeviceKind: AnyObject {
    var permission: Permission { get }
    /// udev's subsystems of the devices, and of what decides whether they are usable.
    var subsystems: [String] { get }
    var nodeUse: NodeUse { get }
    /// The devices among what is in sysfs now, in any order.
    func devices(in records: (_ subsystem: String) -> [DeviceRecord]) -> [FoundDevice]
    /// What is known of an entry, of all for nil, counts no more: another device may have taken its place.
    func forget(_ syspath: String?)
    /// Whether a device of that name, empty for the default, is one that can be opened.
    func canOpen(_ name: String, among found: [FoundDevice]) -> Bool
    /// Reports changes that udev does not tell of.
    func start(onChange: @escaping @LoopActor () -> Void)
    func stop()
    /// Asks anew what does not answer by itself.
    func askAgain()
    /// Calls `body` once everything that has to be asked has answered, or taken that long.
    func whenSettled(withinMilliseconds limit: Int64, _ body: @escaping @LoopActor () -> Void)
}

extension DeviceKind {
    func forget(_ syspath: String?) {}
    func canOpen(_ name: String, among found: [FoundDevice]) -> Bool { nodeUse != .none }
    func start(onChange: @escaping @LoopActor () -> Void) {}
    func stop() {}
    func askAgain() {}
    func whenSettled(withinMilliseconds limit: Int64, _ body: @escaping @LoopActor () -> Void) { body() }
}

/// Every kind of device there is: one for each permission.
enum DeviceKinds {
    @LoopActor
    static func all(_ probe: any NodeProbe, _ geoclue: GeoClueProbe?) -> [any DeviceKind] {
        [CameraKind(probe), MicrophoneKind(probe), BluetoothKind(), LocationKind(probe, geoclue)]
    }
}
