// Finds Bluetooth adapters, and whether rfkill blocks them.

import DeviceNodes
import PermissionCore
import PermissionModel

struct BluetoothKind: DeviceKind {
    let permission = Permission.bluetooth
    let subsystems = ["bluetooth", "rfkill"]

    /// `hci0` is an adapter, `hci0:64` one of its connections.
    func mayBeDevice(_ record: DeviceRecord) -> Bool {
        record.sysname.hasPrefix("hci") && SoundNode.decimal(record.sysname.dropFirst(3)) != nil
    }

    func device(
        _ record: DeviceRecord, _ answer: ProbeResult, among records: (_ subsystem: String) -> [DeviceRecord]
    ) -> FoundDevice? {
        let product = SafeText.title(record.product)
        let switches = records("rfkill").filter { $0.syspath.hasPrefix(record.syspath + "/") }
        let device = Device(
            permission: permission, id: record.hardware,
            name: product.isEmpty ? "Bluetooth adapter" : product,
            problem: BluetoothKind.problem(switches))
        return FoundDevice(device: device, syspath: record.syspath, order: record.sysnum)
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
