// The devices of all kinds: one snapshot that events keep up to date, so that queries need no I/O.

import DBus
import Logging
import PermissionCore
import PermissionModel

@LoopActor
final class DeviceCatalog {
    private let log: Logger
    private let source: any DeviceSource
    private let kinds: [any DeviceKind]
    private var onChange: (@LoopActor ([DeviceChange]) -> Void)?
    /// The usable devices of each permission come first, and the default device before all others.
    private(set) var found: [Permission: [FoundDevice]] = [:]
    private var names = DeviceNames()
    /// Devices reported as removed, which sysfs may still list for a moment.
    private var gone: Set<String> = []

    convenience init(log: Logger) {
        self.init(
            log: log, source: Udev(), kinds: DeviceKinds.all(SystemProbe(), GeoClueProbe(address: .system)))
    }

    init(log: Logger, source: any DeviceSource, kinds: [any DeviceKind]) {
        self.log = log
        self.source = source
        self.kinds = kinds
    }

    /// Takes the first snapshot at once, and reports all later changes; GeoClue answers later. If already started, it
    /// only replaces `onChange`.
    func start(onChange: @escaping @LoopActor ([DeviceChange]) -> Void) {
        let isStarted = self.onChange != nil
        self.onChange = onChange
        if isStarted { return }
        // Watch first, so that no event between the snapshot and the watch is lost.
        source.start(kinds.flatMap(\.subsystems)) { [weak self] in self?.received($0) }
        for kind in kinds { found[kind.permission] = look(for: kind) }
        for kind in kinds { kind.start { [weak self] in self?.refresh([kind.permission]) } }
        for problem in source.problems { log.notice("\(problem)") }
    }

    /// Scans all devices again and queries every node again.
    func rescan() {
        for kind in kinds { kind.forget(nil) }
        gone = []
        refresh(Set(kinds.map(\.permission)))
        for kind in kinds { kind.askAgain() }
    }

    /// Checks again who may open the nodes: udev sends no event when logind gives them to another user.
    func checkRights() { refresh(Set(kinds.filter { $0.nodeUse != .none }.map(\.permission))) }

    /// Ordered by permission; the default device of each comes first.
    var devices: [Device] { Permission.allCases.sorted().flatMap { found[$0, default: []].map(\.device) } }

    func isUsable(_ permission: Permission) -> Bool { found[permission]?.first?.device.isUsable ?? false }

    func defaultDevice(_ permission: Permission) -> Device? { found[permission]?.first?.device }

    /// Reasons why devices may go unnoticed, for a person to read.
    var problems: [String] { source.problems }

    // MARK: Updates

    private func received(_ events: [DeviceEvent]) {
        var touched: Set<Permission> = []
        for event in events {
            if event.syspath.isEmpty { gone = [] }
            if event.isRemoval { gone.insert(event.syspath) } else { gone.remove(event.syspath) }
            for kind in kinds where kind.subsystems.contains(event.subsystem) {
                // After any event, the entry may be another device.
                kind.forget(event.syspath.isEmpty ? nil : event.syspath)
                touched.insert(kind.permission)
            }
        }
        refresh(touched)
    }

    private func refresh(_ permissions: Set<Permission>) {
        let old = devices
        for kind in kinds where permissions.contains(kind.permission) { found[kind.permission] = look(for: kind) }
        let changes = DeviceChange.between(old, devices)
        guard !changes.isEmpty else { return }
        for change in changes { log.debug("device \(change)") }
        onChange?(changes)
    }

    func kind(of permission: Permission) -> (any DeviceKind)? { kinds.first { $0.permission == permission } }

    private func look(for kind: any DeviceKind) -> [FoundDevice] {
        var all = kind.devices(in: records)
        // A stable order for assigning IDs; the usable devices come first afterwards.
        all.sort { ($0.order, $0.syspath) < ($1.order, $1.syspath) }
        // A serial number can contain anything that the hardware reports.
        for index in all.indices { all[index].device.id = SafeText.identity(all[index].device.id) }
        all = names.withUniqueIDs(all)
        return all.filter(\.device.isUsable) + all.filter { !$0.device.isUsable }
    }

    private func records(_ subsystem: String) -> [DeviceRecord] {
        let all = source.records(of: subsystem)
        return gone.isEmpty ? all : all.filter { !gone.contains($0.syspath) }
    }
}
