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
        let service = geoclue?.device.map { FoundDevice(device: $0, order: .max) }
        return Receivers.find(in: records("gnss"), probe) + (service.map { [$0] } ?? [])
    }

    /// The location service has no node, so without a receiver there is nothing to open.
    func canOpen(_ name: String, among found: [FoundDevice]) -> Bool {
        found.contains { !$0.device.node.isEmpty } && name != GeoClueProbe.deviceID
    }

    func start(onChange: @escaping @LoopActor () -> Void) { geoclue?.start(onChange: onChange) }
    func askAgain() { geoclue?.askAgain() }
}

enum Receivers {
    static func find(in records: [DeviceRecord], _ probe: any NodeProbe) -> [FoundDevice] {
        records.filter { !$0.node.isEmpty }.map { record in
            let code = probe.access(record.node, writing: false)
            let group = code == 0 ? nil : probe.group(of: record.node)
            let product = SafeText.title(record.product)
            let kind = SafeText.title(record.attributes["type"] ?? "")
            let base = product.isEmpty ? "Satellite receiver (\(record.sysname))" : "\(product) (\(record.sysname))"
            let device = Device(
                permission: .location, id: record.hardware, node: record.node,
                name: kind.isEmpty ? base : "\(base), \(kind)",
                problem: NodeProblem.text(code, node: record.node, group: group))
            return FoundDevice(device: device, syspath: record.syspath, number: record.number, order: record.sysnum)
        }
    }
}
