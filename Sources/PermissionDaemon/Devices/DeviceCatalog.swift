// The devices of all kinds: one snapshot, kept up to date by events, that answers without asking anybody.

public import DBus
public import Logging
import PermissionCore
public import PermissionModel

/// What devices there are and whether this user can use them.
@LoopActor
public final class DeviceCatalog {
    /// By permission; the default device of each first.
    public private(set) var devices: [Device] = []

    private let log: Logger
    private let source: any DeviceSource
    private let kinds: [any DeviceKind]
    private var onChange: (@LoopActor ([DeviceChange]) -> Void)?
    private(set) var found: [Permission: [FoundDevice]] = [:]
    private var usable: Set<Permission> = []
    private var names = DeviceNames()
    /// Reported as removed, though sysfs may still list them for a moment.
    private var gone: Set<String> = []

    public convenience init(log: Logger) {
        self.init(
            log: log, source: Udev(), kinds: DeviceKinds.all(SystemProbe(), GeoClueProbe(address: .system)))
    }

    init(log: Logger, source: any DeviceSource, kinds: [any DeviceKind]) {
        self.log = log
        self.source = source
        self.kinds = kinds
    }

    /// Takes the first snapshot at once; reports what differs from it from then on. GeoClue answers later. Started already,
    /// only who is told changes.
    public func start(onChange: @escaping @LoopActor ([DeviceChange]) -> Void) {
        let isStarted = self.onChange != nil
        self.onChange = onChange
        if isStarted { return }
        // Watching comes first, so that nothing falls between the snapshot and the events.
        source.start(kinds.flatMap(\.subsystems)) { [weak self] in self?.received($0) }
        for kind in kinds { found[kind.permission] = look(for: kind) }
        publish()
        for kind in kinds { kind.start { [weak self] in self?.refresh([kind.permission]) } }
        for problem in source.problems { log.notice("\(problem)") }
    }

    /// No report comes any more.
    public func stop() {
        source.stop()
        for kind in kinds { kind.stop() }
        onChange = nil
    }

    /// Looks at everything anew and asks every node again.
    public func rescan() {
        for kind in kinds { kind.forget(nil) }
        gone = []
        refresh(Set(kinds.map(\.permission)))
        for kind in kinds { kind.askAgain() }
    }

    /// Looks again at who may open the nodes: udev does not tell when logind hands them to another person.
    func checkRights() { refresh(Set(kinds.filter { $0.nodeUse != .none }.map(\.permission))) }

    /// Calls `body` once the first snapshot is whole: when every service that is asked has answered, failed, or taken that
    /// long. At once if it is.
    public func whenComplete(withinMilliseconds limit: Int64, _ body: @escaping @LoopActor () -> Void) {
        var left = kinds.count
        guard left > 0 else { return body() }
        for kind in kinds {
            kind.whenSettled(withinMilliseconds: limit) {
                left -= 1
                if left == 0 { body() }
            }
        }
    }

    public func isUsable(_ permission: Permission) -> Bool { usable.contains(permission) }

    public func defaultDevice(_ permission: Permission) -> Device? { found[permission]?.first?.device }

    /// What keeps devices from being noticed, for a person to read.
    public var problems: [String] { source.problems }

    // MARK: Keeping up

    private func received(_ events: [DeviceEvent]) {
        var touched: Set<Permission> = []
        for event in events {
            if event.syspath.isEmpty { gone = [] }
            if event.isRemoval { gone.insert(event.syspath) } else { gone.remove(event.syspath) }
            for kind in kinds where kind.subsystems.contains(event.subsystem) {
                // Whatever happened to it, what is there now may be another device.
                kind.forget(event.syspath.isEmpty ? nil : event.syspath)
                touched.insert(kind.permission)
            }
        }
        refresh(touched)
    }

    private func refresh(_ permissions: Set<Permission>) {
        for kind in kinds where permissions.contains(kind.permission) { found[kind.permission] = look(for: kind) }
        let old = devices
        publish()
        let changes = DeviceChange.between(old, devices)
        guard !changes.isEmpty else { return }
        for change in changes { log.debug("device \(change)") }
        onChange?(changes)
    }

    func kind(of permission: Permission) -> (any DeviceKind)? { kinds.first { $0.permission == permission } }

    private func look(for kind: any DeviceKind) -> [FoundDevice] {
        var all = kind.devices(in: records)
        // A stable order before ids are given, the usable ones first after it.
        all.sort { ($0.order, $0.syspath) < ($1.order, $1.syspath) }
        // Serial numbers are what the hardware says.
        for index in all.indices { all[index].device.id = SafeText.identity(all[index].device.id) }
        all = names.withUniqueIDs(all)
        return all.filter(\.device.isUsable) + all.filter { !$0.device.isUsable }
    }

    private func records(_ subsystem: String) -> [DeviceRecord] {
        let all = source.records(of: subsystem)
        return gone.isEmpty ? all : all.filter { !gone.contains($0.syspath) }
    }

    private func publish() {
        devices = Permission.allCases.sorted().flatMap { found[$0, default: []].map(\.device) }
        usable = Set(devices.filter(\.isUsable).map(\.permission))
    }
}
