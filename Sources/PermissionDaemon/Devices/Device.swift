// A device in the catalog, and the changes between two snapshots.

import PermissionModel

/// Something that a permission covers: a camera, a microphone, an adapter, a source of positions.
struct Device: Sendable, Hashable {
    var permission: Permission
    /// Stable when the device is plugged in again, and unique within a permission.
    var id: String
    /// Its path below `/dev`, or empty.
    var node = ""
    /// Safe to show.
    var name: String
    /// Why it is not usable and what to do; empty if it is usable.
    var problem = ""

    var isUsable: Bool { problem.isEmpty }
}

enum DeviceChange: Sendable, Hashable {
    case added(Device)
    case removed(Permission, id: String)
    /// Its node, name or usability has changed.
    case changed(Device)

    var permission: Permission {
        switch self {
        case .added(let device), .changed(let device): device.permission
        case .removed(let permission, _): permission
        }
    }

    /// The changes from one snapshot to the next: first what was removed, then what was added, then what changed.
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

/// A device with the data that only the catalog needs.
struct FoundDevice: Sendable, Hashable {
    var device: Device
    var syspath = ""
    /// The device number (dev_t) of its node, if it has one.
    var number: UInt64?
    /// Its place among the usable or the unusable devices of its permission.
    var order = 0
}
