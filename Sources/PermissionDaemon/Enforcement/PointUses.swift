// What a point of the system says is in use: it is listed as a use of its own.

import DBus
import PermissionCore
import PermissionModel
import ProcessIdentity

@LoopActor
final class PointUses {
    /// The uses of a user that a point may report: more than programs of a desktop have. Others are not listed.
    private static let maximum = 256

    private let point: SystemPoint
    private let processes: ProcessIdentifier
    private let facts: CurrentFacts
    /// Where uses are listed.
    weak var usage: DeviceUsage?
    /// By the point's number; the value is nil until the process is identified.
    private var numbers: [UInt64: UInt32?] = [:]

    init(_ point: SystemPoint, processes: ProcessIdentifier, facts: CurrentFacts) {
        (self.point, self.processes, self.facts) = (point, processes, facts)
    }

    /// Returns false if a newer point reports what is not known here.
    func began(_ body: [Value]) -> Bool {
        guard body.count == 4, let number = body[0].uint64Value, let pidfd = body[1].unixFDValue,
            let permission = body[2].stringValue.flatMap(Permission.init(rawValue:)),
            point.permissions.contains(permission), let device = body[3].stringValue
        else { return false }
        // It may be sent again before the point knows.
        guard numbers[number] == nil, numbers.count < PointUses.maximum, let pid = Pidfd.pid(of: pidfd.raw) else {
            return true
        }
        numbers[number] = .some(nil)
        processes.identify(pid, under: pidfd) { [weak self] result in
            guard let self, numbers[number] != nil else { return }
            guard case .success(let found) = result else {
                numbers[number] = nil
                return
            }
            let caller = Caller(
                connection: point.service, app: found.app, process: found.instance,
                mayBeSandboxed: found.mayBeSandboxed)
            let report = UseReport(
                app: found.app, pid: pid, device: UsedDevice(permission: permission, id: device, name: ""),
                source: point.source, status: facts.status(of: permission, for: caller, assumesDevice: true))
            numbers[number] = try? usage?.reportUse(report, by: point.service)
        }
        return true
    }

    func ended(_ number: UInt64) {
        guard let use = numbers.removeValue(forKey: number) ?? nil else { return }
        try? usage?.endUse(use, by: point.service)
    }

    /// The point has gone.
    func endAll() {
        for number in numbers.keys { ended(number) }
    }
}
