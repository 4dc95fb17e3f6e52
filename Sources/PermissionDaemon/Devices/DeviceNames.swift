// Gives each device of a permission a unique ID, even if several have the same one.

struct DeviceNames {
    /// By path and wanted ID. A device has the same ID while others come and go.
    private var given: [[String]: String] = [:]

    mutating func withUniqueIDs(_ devices: [FoundDevice]) -> [FoundDevice] {
        let before = given
        var taken = Set(devices.compactMap { before[[$0.syspath, $0.device.id]] })
        given = [:]
        return devices.map { found in
            var result = found
            let key = [found.syspath, found.device.id]
            var number = 1
            while before[key] == nil, !taken.insert(result.device.id).inserted {
                number += 1
                result.device.id = "\(found.device.id)-\(number)"
            }
            result.device.id = before[key] ?? result.device.id
            given[key] = result.device.id
            return result
        }
    }
}
