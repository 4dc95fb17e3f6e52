// Sources of positions: satellite receivers and the location service.

import DBus
import PermissionCore
import PermissionModel

final class LocationKind: DeviceKind {
    let permission = Permission.location
    let subsystems = ["gnss"]
    let nodeUse = NodeUse.reading
    private let probe: any NodeProbe
    private let geoclue: GeoClueProbe?

    init(_ probe: any NodeProbe, _ geoclue: GeoClueProbe?) {
        self.probe = probe
        self.geoclue = geoclue
    }

    func devices(in records: (_ subsystem: String) -> [DeviceRecord]) -> [FoundDevice] {
        let receivers = records("gnss").filter { !$0.node.isEmpty }.map(receiver)
        guard let service = geoclue?.device else { return receivers }
        return receivers + [FoundDevice(device: service, order: .max)]
    }

    private func receiver(_ record: DeviceRecord) -> FoundDevice {
        let product = SafeText.title(record.product)
        let name = "\(product.isEmpty ? "Satellite receiver" : product) (\(record.sysname))"
        let kind = SafeText.title(record.attributes["type"] ?? "")
        let code = probe.access(record.node, writing: false)
        let device = Device(
            permission: .location, id: record.hardware, node: record.node,
            name: kind.isEmpty ? name : "\(name), \(kind)", problem: probe.problem(code, at: record.node))
        return FoundDevice(device: device, syspath: record.syspath, number: record.number, order: record.sysnum)
    }

    /// The location service has no node, so without a receiver there is nothing to open.
    func canOpen(_ name: String, among found: [FoundDevice]) -> Bool {
        found.contains { !$0.device.node.isEmpty } && name != GeoClueProbe.deviceID
    }

    func start(onChange: @escaping @LoopActor () -> Void) { geoclue?.start(onChange: onChange) }
    func askAgain() { geoclue?.askAgain() }
}
