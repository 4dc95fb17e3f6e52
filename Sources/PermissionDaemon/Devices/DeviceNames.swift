// Gives each device of a permission a unique ID, even if several have the same one.

import PermissionModel

struct DeviceNames {
    private struct Key: Hashable {
        let permission: Permission
        let syspath: String
        let wanted: String
    }

    /// A device keeps its ID while others come and go.
    private var given: [Key: String] = [:]

    mutating func withUniqueIDs(_ devices: [FoundDevice]) -> [FoundDevice] {
        guard let permission = devices.first?.device.permission else { return devices }
        let keys = devices.map { Key(permission: permission, syspath: $0.syspath, wanted: $0.device.id) }
        let present = Set(keys)
        given = given.filter { $0.key.permission != permission || present.contains($0.key) }
        var taken = Set(keys.compactMap { given[$0] })
        return zip(keys, devices).map { key, found in
            var result = found
            if let id = given[key] {
                result.device.id = id
                return result
            }
            var number = 1
            while !taken.insert(result.device.id).inserted {
                number += 1
                result.device.id = "\(key.wanted)-\(number)"
            }
            given[key] = result.device.id
            return result
        }
    }
}
