// What counts as a device of a permission. Each conforming type has a file of its own; `DeviceKinds` lists them.

import DBus
import DeviceNodes
import PermissionModel

/// How the nodes of a kind are opened for apps that do not specify it.
enum NodeUse {
    /// There is no node that an app could receive.
    case none
    case reading
    /// Required for V4L2 buffers and ALSA's mapped control page.
    case readingAndWriting
}

protocol DeviceKind: Sendable {
    var permission: Permission { get }
    /// The udev subsystems of the devices, and of what determines whether they are usable.
    var subsystems: [String] { get }
    var nodeUse: NodeUse { get }
    /// Whether who has a node open is a use. Otherwise uses are only what enforcement points report.
    var isWatched: Bool { get }
    /// Devices that are always there, for a permission that needs no hardware.
    var permanent: [Device] { get }
    /// Whether an entry of sysfs may be a device. If there is a node to open, the node is examined next.
    func mayBeDevice(_ record: DeviceRecord) -> Bool
    /// Whether the node may answer otherwise without an event.
    /// - Parameters:
    ///   - known: the last answer of the same device.
    ///   - inDetail: whether that counts, too, which makes no difference to apps.
    func mayChange(_ record: DeviceRecord, _ known: ProbeResult?, inDetail: Bool) -> Bool
    /// Examines a node, which may block.
    /// - Parameter known: the last answer of the same device.
    func examine(_ record: DeviceRecord, _ known: ProbeResult?, _ probe: any NodeProbe) -> ProbeResult
    /// The device that the entry is; nil if it is none.
    func device(
        _ record: DeviceRecord, _ answer: ProbeResult, among records: (_ subsystem: String) -> [DeviceRecord]
    ) -> FoundDevice?
    /// Whether a device with that name (the default one if empty) can be opened.
    func canOpen(_ name: String, among found: [FoundDevice]) -> Bool
}

extension DeviceKind {
    var nodeUse: NodeUse { .none }

    var isWatched: Bool { false }

    var permanent: [Device] { [] }

    func mayBeDevice(_ record: DeviceRecord) -> Bool { false }

    func mayChange(_ record: DeviceRecord, _ known: ProbeResult?, inDetail: Bool) -> Bool { false }

    func device(
        _ record: DeviceRecord, _ answer: ProbeResult, among records: (_ subsystem: String) -> [DeviceRecord]
    ) -> FoundDevice? { nil }

    func examine(_ record: DeviceRecord, _ known: ProbeResult?, _ probe: any NodeProbe) -> ProbeResult {
        ProbeResult(code: probe.access(record.node, writing: nodeUse == .readingAndWriting))
    }

    func canOpen(_ name: String, among found: [FoundDevice]) -> Bool { nodeUse != .none }
}

/// All kinds of devices, one for each permission.
enum DeviceKinds {
    static let all: [any DeviceKind] = [CameraKind(), MicrophoneKind(), BluetoothKind(), LocationKind()]
}
