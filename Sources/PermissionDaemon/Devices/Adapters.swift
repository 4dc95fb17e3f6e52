// Finds Bluetooth adapters, and whether rfkill blocks them.

import DBus
import PermissionCore
import PermissionModel

final class BluetoothKind: DeviceKind {
    let permission = Permission.bluetooth
    let subsystems = ["bluetooth", "rfkill"]
    let nodeUse = NodeUse.none

    func devices(in records: (_ subsystem: String) -> [DeviceRecord]) -> [FoundDevice] {
        let switches = records("rfkill")
        return records("bluetooth").filter { BluetoothKind.isAdapter($0.sysname) }.map { record in
            let product = SafeText.title(record.product)
            let device = Device(
                permission: .bluetooth, id: record.hardware,
                name: "\(product.isEmpty ? "Bluetooth adapter" : product) (\(record.sysname))",
                problem: BluetoothKind.problem(switches.filter { $0.syspath.hasPrefix(record.syspath + "/") }))
            return FoundDevice(device: device, syspath: record.syspath, order: record.sysnum)
        }
    }

    /// `hci0` is an adapter, `hci0:64` one of its connections.
    static func isAdapter(_ sysname: String) -> Bool {
        sysname.hasPrefix("hci") && decimal(sysname.dropFirst(3)) != nil
    }

    /// - Parameter switches: the rfkill entries of the adapter.
    private static func problem(_ switches: [DeviceRecord]) -> String {
        if switches.contains(where: { $0.attributes["hard"] == "1" }) {
            return "a hardware switch or the firmware turned the radio off; turn it on there"
        }
        if switches.contains(where: { $0.attributes["soft"] == "1" }) {
            return "the radio is turned off; turn Bluetooth on in the settings or run: rfkill unblock bluetooth"
        }
        return ""
    }
}
