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
    /// A camera whose shutter is closed. Apps may use it: a person may open the shutter at any time.
    var isCovered = false

    var isUsable: Bool { problem.isEmpty }
}

enum DeviceChange: Sendable, Hashable {
    /// It is new, or its node, name or usability has changed.
    case added(Device)
    case removed(Permission, id: String)

    var permission: Permission {
        switch self {
        case .added(let device): device.permission
        case .removed(let permission, _): permission
        }
    }

    /// The changes from one snapshot of a permission to the next: first what was removed, then what was added.
    static func between(_ old: [Device], _ new: [Device]) -> [DeviceChange] {
        let present = Set(new.map(\.id))
        let removed = old.filter { !present.contains($0.id) }
        return removed.map { .removed($0.permission, id: $0.id) } + new.filter { !old.contains($0) }.map { .added($0) }
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
    /// What tells it from a device of its name, which comes first; empty for an ordinary one.
    var distinction = ""
}
