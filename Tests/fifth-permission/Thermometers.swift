// Finds thermometers, for the test that adds a permission: every Bluetooth adapter counts as one.

import DBus
import PermissionModel

final class ThermometerKind: DeviceKind {
    let permission = Permission.thermometer
    let subsystems = ["bluetooth"]
    let nodeUse = NodeUse.none

    func devices(in records: (_ subsystem: String) -> [DeviceRecord]) -> [FoundDevice] {
        records("bluetooth").map { record in
            FoundDevice(
                device: Device(permission: .thermometer, id: record.hardware, name: "Thermometer"),
                syspath: record.syspath)
        }
    }
}
