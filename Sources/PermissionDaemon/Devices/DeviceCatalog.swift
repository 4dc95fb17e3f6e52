// The devices of all kinds: one snapshot that events keep up to date, so that queries need no I/O. The worker examines
// the nodes.

import DBus
import DeviceNodes
import Glibc
import Logging
import PermissionCore
import PermissionModel
import System

@LoopActor
final class DeviceCatalog {
    /// What is known of a kind.
    private struct Inventory {
        /// The entries of sysfs, by subsystem.
        var records: [String: [DeviceRecord]] = [:]
        /// What nodes have answered, by the paths of their entries.
        var answers: [String: ProbeResult] = [:]
        /// The questions that wait for an answer, each with its number.
        var probes: [String: UInt64] = [:]

        func entries(of kind: any DeviceKind) -> [DeviceRecord] {
            kind.subsystems.flatMap { records[$0] ?? [] }.filter(kind.mayBeDevice)
        }
    }

    let kinds: [any DeviceKind]
    /// For what the system and the administrator have placed. Callers cannot fill it with jobs that hang.
    let worker: Worker
    private let log: Logger
    private let source: any DeviceSource
    private let probe: any NodeProbe
    private let geoclue: GeoClueProbe?
    /// Called with the changes of the snapshot.
    var onChange: (@LoopActor ([DeviceChange]) -> Void)?
    /// The usable devices of each permission come first, and the default device before all others.
    private(set) var found: [Permission: [FoundDevice]] = [:]
    private var names: [Permission: DeviceNames] = [:]
    /// Of the permissions whose last usable device has just gone; it may be back at once.
    private var missed: [Permission: LoopTimer] = [:]
    /// Milliseconds for which requests go on as if it were there: a device that resets itself is back within them.
    private let grace: Int64
    /// Devices reported as removed, which sysfs may still list for a moment.
    private var gone: Set<String> = []
    private var known: [Permission: Inventory] = [:]
    private var lastProbe: UInt64 = 0
    private var waiting: [@LoopActor () -> Void] = []
    /// Set while devices could not be listed.
    private var retry: LoopTimer?
    /// Milliseconds until they are listed again.
    private static let retryTime: Int64 = 10_000

    convenience init(worker: Worker, systemBus: ReconnectingBus, log: Logger) {
        self.init(
            worker: worker, log: log, source: Udev(), kinds: DeviceKinds.all, probe: SystemProbe(),
            geoclue: GeoClueProbe(on: systemBus))
    }

    init(
        worker: Worker, log: Logger, source: any DeviceSource, kinds: [any DeviceKind], probe: any NodeProbe,
        geoclue: GeoClueProbe? = nil, grace: Int64 = 2000
    ) {
        self.worker = worker
        self.log = log
        self.source = source
        self.kinds = kinds
        self.probe = probe
        self.geoclue = geoclue
        self.grace = grace
    }

    /// Takes the first snapshot. A node that does not answer in time is not usable.
    func start() {
        // Watch first, so that no event between the snapshot and the watch is lost.
        source.start(kinds.flatMap(\.subsystems)) { [weak self] in self?.received($0) }
        for problem in source.problems { log.notice("\(problem)") }
        geoclue?.start { [weak self] in self?.refresh([.location]) }
        refresh(Set(kinds.map(\.permission)))
    }

    /// Scans all devices again and examines every node again, then calls `completion`.
    func rescan(_ completion: @escaping @LoopActor () -> Void) {
        retry?.cancel()
        retry = nil
        for kind in kinds {
            known[kind.permission]?.answers = [:]
            known[kind.permission]?.probes = [:]
        }
        gone = []
        refresh(Set(kinds.map(\.permission)))
        geoclue?.askAgain()
        whenAnswered(completion)
    }

    /// Checks again who may open the nodes: udev sends no event when logind gives them to another user.
    func checkRights() {
        refresh(Set(kinds.filter { $0.nodeUse != .none }.map(\.permission)), askingAll: true)
    }

    /// An app asks for these permissions. Only then is a service started that is not running.
    func areWanted(_ permissions: [Permission]) {
        if permissions.contains(.location) { geoclue?.isWanted() }
    }

    /// Calls that wait for nodes to answer. A program that makes more is answered by what is known.
    private static let mostWaiting = 256

    /// Runs `body` when it is known whether there are devices by now of which no event has told: at once, or when the nodes
    /// that may be such devices have answered.
    ///
    /// - Parameter isEnough: Whether one usable device is enough, so that `body` need not wait for others.
    func whenCurrent(_ permissions: [Permission], isEnough: Bool = true, _ body: @escaping @LoopActor () -> Void) {
        let changing = kinds.filter { permissions.contains($0.permission) && !changeable($0, !isEnough).isEmpty }
        for kind in changing { askAgain(kind.permission, inDetail: !isEnough) }
        let isWaited = changing.contains { !isEnough || !isUsable($0.permission) }
        if isWaited, waiting.count < DeviceCatalog.mostWaiting { whenAnswered(body) } else { body() }
    }

    /// Examines the nodes again whose answers change without an event, unless that is being done: who asks on and on must
    /// not keep others waiting.
    ///
    /// - Parameter inDetail: Also those whose answers make no difference to apps.
    func askAgain(_ permission: Permission, inDetail: Bool = false) {
        guard known[permission]?.probes.isEmpty ?? false else { return }
        for kind in kinds where kind.permission == permission {
            for record in changeable(kind, inDetail) { ask(record, kind) }
        }
    }

    private func changeable(_ kind: any DeviceKind, _ inDetail: Bool) -> [DeviceRecord] {
        guard let inventory = known[kind.permission] else { return [] }
        return inventory.entries(of: kind).filter {
            !$0.node.isEmpty && kind.mayChange($0, inventory.answers[$0.syspath], inDetail: inDetail)
        }
    }

    /// Ordered by permission; the default device of each comes first.
    var devices: [Device] { Permission.allCases.sorted().flatMap { found[$0, default: []].map(\.device) } }

    func isUsable(_ permission: Permission) -> Bool { found[permission]?.first?.device.isUsable ?? false }

    /// Whether the last usable device went only a moment ago.
    func isMissed(_ permission: Permission) -> Bool { missed[permission] != nil }

    /// The device whose node has this number (dev_t).
    func device(_ permission: Permission, number: UInt64) -> Device? {
        found[permission]?.first { $0.number == number }?.device
    }

    func defaultDevice(_ permission: Permission) -> Device? { found[permission]?.first?.device }

    func kind(of permission: Permission) -> (any DeviceKind)? { kinds.first { $0.permission == permission } }

    /// Reasons why devices may go unnoticed, for a person to read.
    var problems: [String] {
        retry == nil
            ? source.problems : source.problems + ["no descriptors are left to list devices; permd will try again"]
    }

    // MARK: Updates

    private func received(_ events: [DeviceEvent]) {
        var touched: Set<Permission> = []
        for event in events {
            if event.isRemoval { gone.insert(event.syspath) } else { gone.remove(event.syspath) }
            for kind in kinds where kind.subsystems.contains(event.subsystem) {
                touched.insert(kind.permission)
                // After any event, the entry may be another device.
                known[kind.permission]?.answers[event.syspath] = nil
                known[kind.permission]?.probes[event.syspath] = nil
            }
        }
        refresh(touched)
    }

    /// Examines the nodes that are not known. The snapshot of a kind changes when all of its nodes have answered.
    private func refresh(_ permissions: Set<Permission>, askingAll: Bool = false) {
        for kind in kinds where permissions.contains(kind.permission) {
            var inventory = known[kind.permission] ?? Inventory()
            for subsystem in kind.subsystems {
                let all = source.records(of: subsystem) ?? unlisted(inventory.records[subsystem])
                inventory.records[subsystem] = all.filter { !gone.contains($0.syspath) }
            }
            let nodes = inventory.entries(of: kind).filter { !$0.node.isEmpty && kind.nodeUse != .none }
            let paths = Set(nodes.map(\.syspath))
            inventory.answers = inventory.answers.filter { paths.contains($0.key) }
            inventory.probes = inventory.probes.filter { paths.contains($0.key) }
            known[kind.permission] = inventory
            for record in nodes
            where askingAll || inventory.answers[record.syspath] == nil && inventory.probes[record.syspath] == nil {
                ask(record, kind)
            }
            apply(kind)
        }
    }

    /// Devices cannot be listed without free descriptors. Until they can, the last list stays.
    private func unlisted(_ last: [DeviceRecord]?) -> [DeviceRecord] {
        if retry == nil {
            retry = Loop.shared.after(milliseconds: DeviceCatalog.retryTime) { [weak self] in
                self?.rescan {}
            }
        }
        return last ?? []
    }

    private func ask(_ record: DeviceRecord, _ kind: any DeviceKind) {
        lastProbe += 1
        let (number, permission, path) = (lastProbe, kind.permission, record.syspath)
        let before = known[permission]?.answers[path]
        known[permission]?.probes[path] = number
        worker.run(about: record.node) { [probe] in
            kind.examine(record, before, probe)
        } then: { [weak self] answer in
            guard let self, known[permission]?.probes[path] == number else { return }
            known[permission]?.probes[path] = nil
            known[permission]?.answers[path] = answer ?? ProbeResult(code: ETIMEDOUT)
            apply(kind)
        }
    }

    private func apply(_ kind: any DeviceKind) {
        guard known[kind.permission]?.probes.isEmpty != false else { return }
        let old = found[kind.permission, default: []]
        let wasUsable = isUsable(kind.permission)
        let new = snapshot(of: kind)
        found[kind.permission] = new
        miss(kind.permission, wasUsable: wasUsable)
        let changes = DeviceChange.between(old.map(\.device), new.map(\.device))
        if !changes.isEmpty {
            for change in changes { log.debug("device \(change)") }
            onChange?(changes)
        }
        guard isAnswered else { return }
        let ready = waiting
        waiting = []
        for body in ready { body() }
    }

    private func miss(_ permission: Permission, wasUsable: Bool) {
        if isUsable(permission) {
            missed.removeValue(forKey: permission)?.cancel()
        } else if wasUsable {
            missed[permission] = Loop.shared.after(milliseconds: grace) { [weak self] in
                self?.missed[permission] = nil
                self?.onChange?([])
            }
        }
    }

    private var isAnswered: Bool { known.values.allSatisfy(\.probes.isEmpty) }

    /// Runs `body` when no question waits for an answer.
    func whenAnswered(_ body: @escaping @LoopActor () -> Void) {
        if isAnswered { body() } else { waiting.append(body) }
    }

    private func snapshot(of kind: any DeviceKind) -> [FoundDevice] {
        let inventory = known[kind.permission] ?? Inventory()
        var all = inventory.entries(of: kind).compactMap { record in
            kind.device(record, inventory.answers[record.syspath] ?? ProbeResult()) { inventory.records[$0] ?? [] }
        }
        all += kind.permanent.map { FoundDevice(device: $0) }
        if let service = geoclue?.device, service.permission == kind.permission {
            all.append(FoundDevice(device: service, order: .max))
        }
        // A stable order for assigning IDs; the usable devices come first afterwards.
        all.sort { ($0.order, $0.syspath) < ($1.order, $1.syspath) }
        for index in all.indices where !all[index].distinction.isEmpty {
            let name = all[index].device.name
            if all.contains(where: { $0.distinction.isEmpty && $0.device.name == name }) {
                all[index].device.name = SafeText.title("\(name) (\(all[index].distinction))")
            }
        }
        // A serial number can contain anything that the hardware reports.
        for index in all.indices { all[index].device.id = SafeText.identity(all[index].device.id) }
        all = names[kind.permission, default: DeviceNames()].withUniqueIDs(all)
        let rank = { (found: FoundDevice) in !found.device.isUsable ? 2 : found.distinction.isEmpty ? 0 : 1 }
        return (0...2).flatMap { place in all.filter { rank($0) == place } }
    }
}
