// What counts as a device of a permission. Each conforming type has a file of its own; `DeviceKinds` lists them.

import DBus
import PermissionModel

/// How the nodes of a kind are opened for apps that do not specify it.
enum NodeUse {
    /// There is no node that an app could receive.
    case none
    case reading
    /// Required for V4L2 buffers and ALSA's mapped control page.
    case readingAndWriting
}

@LoopActor
protocol DeviceKind: AnyObject {
    var permission: Permission { get }
    /// The udev subsystems of the devices, and of what determines whether they are usable.
    var subsystems: [String] { get }
    var nodeUse: NodeUse { get }
    /// The devices among the current entries of sysfs, in any order.
    func devices(in records: (_ subsystem: String) -> [DeviceRecord]) -> [FoundDevice]
    /// Forgets what is known of an entry, or of all if nil: another device may have taken its place.
    func forget(_ syspath: String?)
    /// Whether a device with that name (the default one if empty) can be opened.
    func canOpen(_ name: String, among found: [FoundDevice]) -> Bool
    /// Reports changes for which udev sends no events.
    func start(onChange: @escaping @LoopActor () -> Void)
    /// Queries again what does not report changes by itself.
    func askAgain()
}

extension DeviceKind {
    func forget(_ syspath: String?) {}
    func canOpen(_ name: String, among found: [FoundDevice]) -> Bool { nodeUse != .none }
    func start(onChange: @escaping @LoopActor () -> Void) {}
    func askAgain() {}
}

/// All kinds of devices, one for each permission.
enum DeviceKinds {
    @LoopActor
    static func all(_ probe: any NodeProbe, _ geoclue: GeoClueProbe?) -> [any DeviceKind] {
        [CameraKind(probe), MicrophoneKind(probe), BluetoothKind(), LocationKind(probe, geoclue)]
    }
}
