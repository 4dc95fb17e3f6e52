// Which satellite receivers there are.

import PermissionCore
import PermissionModel

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
