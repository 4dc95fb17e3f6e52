// Satellite receivers, one of the sources of positions; the other is the service GeoClue.

import DeviceNodes
import PermissionCore
import PermissionModel

struct LocationKind: DeviceKind {
    let permission = Permission.location
    let subsystems = ["gnss"]
    let nodeUse = NodeUse.reading

    func mayBeDevice(_ record: DeviceRecord) -> Bool { !record.node.isEmpty }

    func device(
        _ record: DeviceRecord, _ answer: ProbeResult, among records: (_ subsystem: String) -> [DeviceRecord]
    ) -> FoundDevice? {
        let product = SafeText.title(record.product)
        let device = Device(
            permission: permission, id: record.hardware, node: record.node,
            name: product.isEmpty ? "Satellite receiver" : product,
            problem: NodeProblem.text(answer.code, node: record.node))
        return FoundDevice(device: device, syspath: record.syspath, number: record.number, order: record.sysnum)
    }

    /// The location service has no node, so without a receiver there is nothing to open.
    func canOpen(_ name: String, among found: [FoundDevice]) -> Bool {
        name != GeoClueProbe.deviceID && found.contains { !$0.device.node.isEmpty }
    }
}
