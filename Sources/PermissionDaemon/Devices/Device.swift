// What the catalog knows of a device, and how it changes.

public import PermissionModel

/// Something a permission is about: a camera, a microphone, an adapter, a source of positions.
public struct Device: Sendable, Hashable {
    public var permission: Permission
    /// Stable over re-plugging, and never twice within a permission.
    public var id: String
    /// Its path below `/dev`, or empty.
    public var node: String
    /// Safe to show.
    public var name: String
    public var isUsable: Bool
    /// Why it is not usable and what to do; empty if it is.
    public var problem: String

    public init(permission: Permission, id: String, node: String = "", name: String, problem: String = "") {
        self.permission = permission
        self.id = id
        self.node = node
        self.name = name
        self.problem = problem
        isUsable = problem.isEmpty
    }
}

public enum DeviceChange: Sendable, Hashable {
    case added(Device)
    case removed(Permission, id: String)
    /// Its node, name or usability.
    case changed(Device)

    /// What leads from one snapshot to the next: what left first, then what came, then what changed.
    static func between(_ old: [Device], _ new: [Device]) -> [DeviceChange] {
        struct Key: Hashable {
            let permission: Permission
            let id: String
            init(_ device: Device) { (permission, id) = (device.permission, device.id) }
        }
        let before = Dictionary(old.map { (Key($0), $0) }, uniquingKeysWith: { first, _ in first })
        let after = Set(new.map(Key.init))
        let removed = old.filter { !after.contains(Key($0)) }.map { DeviceChange.removed($0.permission, id: $0.id) }
        let added = new.filter { before[Key($0)] == nil }.map(DeviceChange.added)
        let changed = new.filter { device in before[Key(device)].map { $0 != device } ?? false }
            .map(DeviceChange.changed)
        return removed + added + changed
    }
}

/// A device with what only the catalog needs of it.
struct FoundDevice: Sendable, Hashable {
    var device: Device
    var syspath = ""
    /// The kernel's number of its node (dev_t), if it has one.
    var number: UInt64?
    /// Its place among the usable, or the unusable, ones of its permission.
    var order = 0
}
