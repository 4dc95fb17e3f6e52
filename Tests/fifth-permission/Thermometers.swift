// A thermometer that every machine has, for the test that adds a permission: like the screen, it has no node.

import PermissionModel

struct ThermometerKind: DeviceKind {
    let permission = Permission.thermometer
    let subsystems: [String] = []
    var permanent: [Device] { [Device(permission: permission, id: "thermometer", name: "Thermometer")] }
}
