// Finds Bluetooth adapters, and whether rfkill blocks them.

import DBus
import PermissionCore
import PermissionModel

final class BluetoothKind: DeviceKind {
    let permission = Permission.bluetooth
    let subsystems = ["bluetooth", "rfkill"]
    let nodeUse = NodeUse.none

    func devices(in records: (_ subsystem: String) -> [DeviceRecord]) -> [FoundDevice] {
        Adapters.find(in: records("bluetooth"), switches: records("rfkill"))
    }
}

enum Adapters {
    /// `hci0` is an adapter, `hci0:64` one of its connections.
    static func isAdapter(_ sysname: String) -> Bool {
        sysname.hasPrefix("hci") && sysname.count > 3 && decimal(sysname.dropFirst(3)) != nil
    }

    static func find(in records: [DeviceRecord], switches: [DeviceRecord]) -> [FoundDevice] {
        records.filter { Adapters.isAdapter($0.sysname) }.map { record in
            let product = SafeText.title(record.product)
            let device = Device(
                permission: .bluetooth, id: record.hardware,
                name: product.isEmpty ? "Bluetooth adapter (\(record.sysname))" : "\(product) (\(record.sysname))",
                problem: problem(switches.filter { $0.syspath.hasPrefix(record.syspath + "/") }))
            return FoundDevice(device: device, syspath: record.syspath, order: record.sysnum)
        }
    }

    /// - Parameter switches: the rfkill entries of the adapter.
    static func problem(_ switches: [DeviceRecord]) -> String {
        if switches.contains(where: { $0.attributes["hard"] == "1" }) {
            return "a hardware switch or the firmware turned the radio off; turn it on there"
        }
        if switches.contains(where: { $0.attributes["soft"] == "1" }) {
            return "the radio is turned off; turn Bluetooth on in the settings or run: rfkill unblock bluetooth"
        }
        return ""
    }
}
