// A thermometer that every machine has, for the test that adds a permission: like the screen, it has no node.

import PermissionModel

struct ThermometerKind: DeviceKind {
    let permission = Permission.thermometer
    let subsystems: [String] = []
    let nodeUse = NodeUse.none
    let watch = NodeWatch.none
    var permanent: [Device] { [Device(permission: permission, id: "thermometer", name: "Thermometer")] }
}
