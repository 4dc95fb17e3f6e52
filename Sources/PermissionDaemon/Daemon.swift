// The daemon: components that live as long as the process, and a service on the bus that is replaced after the
// connection is lost.

import DBus
import Glibc
import Journal
import Logging
import PermissionCore
import PermissionModel
import ProcessIdentity
import System

@LoopActor
final class Daemon {
    private let root: String
    private let log: Logger
    private let notifier = Notifier(status: "Serving \(BusNames.service)")
    /// For what a caller may have placed on a file system that hangs.
    private lazy var processes = ProcessIdentifier(worker: Worker())
    /// For what only the system and the administrator place, so that no caller can keep it from being read.
    private let worker = Worker()
    private typealias Parts = (store: DecisionStore, policy: RuleSet, devices: DeviceCatalog)
    private var parts: Parts?
    /// Nil where the store cannot be locked.
    private var storeLock: UnixFD?
    /// What waits until rules and devices are known for the first time; nil afterwards.
    private var awaitingParts: [@LoopActor (Parts) -> Void]? = []
    private var service: BusService?
    /// The coordinator of the lost connection, until there is a new service.
    private var lost: Coordinator?
    private let systemBus = ReconnectingBus()
    private lazy var systemObjects = SystemBusObjects(systemBus)
    private lazy var pointConnections = {
        let client = PointClient(systemObjects)
        return SystemPoint.all.map { PointConnection($0, bus: systemBus, log: log, client: client) }
    }()
    private var systemPoints: SystemPoints?
    private lazy var logins = LoginSessions(on: systemBus, log: log)
    private var seatActivity = SeatActivity(.awaited)
    /// Set from the loss of the connection until there is a new service.
    private var outage: Outage?
    /// Until another permd that has ended must have given back the store.
    private lazy var lockWait = Outage()
    /// Set while another program owns the name.
    private var nameWatch: Subscription?
    private var isStopping = false
    private(set) var exitStatus: Int32 = 0

    init(root: String, log: Logger) {
        self.root = root
        self.log = log
    }

    /// A lost bus. The first attempt to reconnect is made at once. A bus that only closed the connection, restarts or is
    /// flooded is back within five seconds; otherwise it has ended with its session.
    @LoopActor
    private struct Outage {
        private static let patience: Int64 = 5000
        private var start = Loop.uptimeMilliseconds()
        private var backoff = Backoff(first: 10, longest: 160)

        /// Restarts the period, because the bus existed until now. Pauses go on to grow.
        mutating func lostAgain() { start = Loop.uptimeMilliseconds() }

        /// Calls `body` after the next pause. Returns false if it is time to give up.
        mutating func tryLater(_ body: @escaping @LoopActor () -> Void) -> Bool {
            guard Loop.uptimeMilliseconds() - start < Outage.patience else { return false }
            Loop.shared.after(milliseconds: backoff.next(), body)
            return true
        }
    }

    // MARK: Starting

    /// Connects to the bus and requests the name. Without a bus or the name, ends the loop with an exit status.
    func start() {
        Loop.shared.onSignals([SIGTERM, SIGINT, SIGHUP]) { [weak self] in self?.signal($0) }
        Loop.shared.onClockSet { [weak self] in self?.parts?.store.noticeEnds() }
        connect { [weak self] error in
            self?.log.error("There is no session bus: \(error.message)")
            self?.leave(ExitStatus.unavailable)
        }
    }

    /// The bus may hang; what does not come from it is served meanwhile.
    private func connect(orFail: @escaping @LoopActor (BusError) -> Void) {
        Connection.open(.session) { [weak self] result in
            switch result {
            case .success(let connection):
                guard let self, !isStopping else { return connection.close() }
                connected(connection)
            case .failure(let error): if self?.isStopping == false { orFail(error) }
            }
        }
    }

    private func connected(_ connection: Connection) {
        connection.onDisconnect { [weak self] in self?.busLost() }
        connection.queuesCalls = true
        claimName(on: connection)
    }

    private func claimName(on connection: Connection) {
        connection.requestName(BusNames.service) { [weak self] result in
            guard let self, !isStopping, connection.isConnected else { return }
            if case .success(true) = result { return withParts { [weak self] in self?.restore($0, on: connection) } }
            // After an outage the bus may not have noticed yet that permd's previous connection is closed, and a flooded
            // bus may exceed a quota now and accept the request a moment later.
            if outage?.tryLater({ self.claimName(on: connection) }) == true { return }
            switch result {
            case .success where outage != nil: waitForName(on: connection)
            case .success:
                log.error("Another permd serves this session bus already; this one exits")
                leave(1)
            case .failure(let error):
                log.error("The bus does not allow permd to own \(BusNames.service): \(error.message)")
                leave(ExitStatus.unavailable)
            }
        }
    }

    /// Waits until a program that was queued for the name, and got it when the connection was lost, releases it.
    private func waitForName(on connection: Connection) {
        guard nameWatch == nil else { return }
        log.error("\(BusNames.service) was taken by another program; permd waits until it is free")
        nameWatch = connection.whenNameVanishes(BusNames.service) { [weak self] in self?.claimName(on: connection) }
        // The name may have been released before the bus received the match rule.
        claimName(on: connection)
    }

    /// Called once permd owns the name: until then, another permd of this bus may have the store's files open.
    private func withParts(_ body: @escaping @LoopActor (Parts) -> Void) {
        if let parts, awaitingParts == nil { return body(parts) }
        awaitingParts?.append(body)
        guard awaitingParts?.count == 1 else { return }
        let paths = StorePaths.standard()
        let devices = DeviceCatalog(worker: worker, systemBus: systemBus, log: log)
        lockStore(paths) { [weak self] in self?.openStore(paths, devices) }
        // Meanwhile. What permd opens before the guard knows it would wait for its own answer.
        for connection in pointConnections { connection.start() }
        whenPointsSettled { devices.start() }
    }

    /// Runs `body` when every point of the system passes this permd, or is not there.
    private func whenPointsSettled(_ body: @escaping @LoopActor () -> Void) {
        var left = pointConnections.count
        for connection in pointConnections {
            connection.whenSettled {
                left -= 1
                if left == 0 { body() }
            }
        }
    }

    /// A permd that is killed has the lock for a moment after it has left the bus.
    private func lockStore(_ paths: StorePaths, then: @escaping @LoopActor () -> Void) {
        worker.run(about: paths.state) {
            StoreLock.take(paths)
        } then: { [self] outcome in
            guard !isStopping else { return }
            switch outcome ?? .impossible {
            case .taken(let lock):
                storeLock = lock
                then()
            case .impossible: then()
            case .held:
                if lockWait.tryLater({ self.lockStore(paths, then: then) }) { return }
                log.error(
                    "Another permd uses the decisions in \(paths.state), on another bus; end it, or set XDG_STATE_HOME to another folder for this one"
                )
                leave(1)
            }
        }
    }

    private func openStore(_ paths: StorePaths, _ devices: DeviceCatalog) {
        let boot = BootID.current()
        worker.run(about: paths.sessionFile ?? "") {
            UserSession(path: paths.sessionFile, boot: boot)
        } then: { [self] session in
            let store = DecisionStore(
                paths: paths, session: session ?? UserSession(boot: boot), now: Daemon.wallClock, log: log)
            store.readRuleFiles { [weak self] in self?.start(store, devices, $0) }
        }
    }

    private func start(
        _ store: DecisionStore, _ devices: DeviceCatalog, _ ruleFiles: [(path: String, text: String)]
    ) {
        let policy = RuleSet(root: root, saved: ruleFiles, worker: worker, log: log)
        parts = (store, policy, devices)
        followLogins()
        policy.read { [weak self] in
            self?.whenPointsSettled {
                devices.whenAnswered {
                    self?.whenLoginsKnown {
                        let waiting = self?.awaitingParts ?? []
                        self?.awaitingParts = nil
                        for body in waiting { body((store, policy, devices)) }
                    }
                }
            }
        }
    }

    /// Decisions are in memory by now, as the file was read before its rules were. Calls wait until the rest is known.
    private func restore(_ parts: Parts, on connection: Connection) {
        parts.store.restore { [weak self] in self?.serve(parts, $0, on: connection) }
    }

    private func serve(_ parts: Parts, _ stored: StoredState, on connection: Connection) {
        guard !isStopping, connection.isConnected else { return }
        nameWatch?.cancel()
        nameWatch = nil
        let systemPoints = systemPoints(parts)
        let coordinator = Coordinator(
            connection: connection, store: parts.store, policy: parts.policy, devices: parts.devices,
            processes: processes, systemPoints: systemPoints, now: Daemon.wallClock, log: log, continuing: lost)
        lost = nil
        let service = BusService(coordinator)
        self.service = service
        service.servePortals()
        coordinator.start(stored)
        coordinator.feed(.seatActivity(seatActivity.isThere))
        if outage == nil {
            notifier.ready()
            log.info("permd \(ProgramOptions.version) serves \(BusNames.service) as \(connection.uniqueName)")
        } else {
            outage = nil
            log.notice("permd serves \(BusNames.service) again, as \(connection.uniqueName)")
        }
    }

    /// They last as long as the process, as the system bus does.
    private func systemPoints(_ parts: Parts) -> SystemPoints {
        if let systemPoints { return systemPoints }
        let facts = CurrentFacts(store: parts.store, policy: parts.policy, devices: parts.devices)
        let gate = pointConnections.first { $0.point.service == BusNames.locationGateService }
        let points = SystemPoints(
            pointConnections.map {
                PointLink(
                    $0, processes: processes, facts: facts, devices: parts.devices, now: Daemon.wallClock, log: log,
                    onUse: parts.store.noteUse)
            },
            locationAgent: LocationAgent(
                bus: systemBus, objects: systemObjects, facts: facts, now: Daemon.wallClock, log: log,
                isGated: { gate?.isRegistered == true }, onUse: parts.store.noteUse))
        systemPoints = points
        return points
    }

    // MARK: Login sessions

    /// The session's decisions end with the last login session, even if it ended while permd was not serving. Prompts
    /// wait while nobody is in front of the screen.
    private func followLogins() {
        log.info("\(seatActivity.why)")
        logins.start(
            onChange: { [weak self] in self?.loginsChanged($0) },
            onSwitch: { [weak self] in self?.parts?.devices.checkRights() })
    }

    /// Calls `body` once it is known whether the session that decisions belong to goes on, if a login session began it.
    private func whenLoginsKnown(_ body: @escaping @LoopActor () -> Void) {
        if parts?.store.session.logins.isEmpty == false { logins.whenAnswered(body) } else { body() }
    }

    private func loginsChanged(_ view: LoginSessions.View) {
        let seat = SeatActivity(view)
        if seat.isThere != seatActivity.isThere {
            log.info("\(seat.why)")
            service?.coordinator.feed(.seatActivity(seat.isThere))
        }
        seatActivity = seat
        guard case .sessions(let sessions) = view, let store = parts?.store else { return }
        let ids = sessions.map(\.id)
        if UserSession.hasEnded(with: store.session.logins, now: ids) {
            if let service { service.coordinator.sessionEnded() } else { store.endSession() }
        }
        store.setLogins(ids)
    }

    // MARK: A lost connection

    /// The bus or libdbus may close any connection; libdbus does so after a message that it finds invalid, whoever sent
    /// it. Callers see that the name has a new owner. Requests end, decisions are kept.
    private func busLost() {
        guard !isStopping else { return }
        nameWatch = nil
        if let service {
            log.warning("The connection to the session bus was lost; permd reconnects")
            service.coordinator.detach()
            lost = service.coordinator
            self.service = nil
        }
        if outage != nil {
            outage?.lostAgain()
            return tryLater()
        }
        outage = Outage()
        // Pending writes belong to the lost service, which must see them completed.
        guard let parts else { return reconnect() }
        parts.store.whenWritten { self.reconnect() }
    }

    private func reconnect() {
        guard !isStopping else { return }
        connect { [weak self] _ in self?.tryLater() }
    }

    private func tryLater() {
        if outage?.tryLater({ self.reconnect() }) == true { return }
        log.error("The session bus went away; permd exits and starts again with the bus")
        leave(1)
    }

    // MARK: Stopping

    private func signal(_ number: Int32) {
        switch number {
        case SIGHUP:
            guard let parts, awaitingParts == nil else { return }
            notifier.reloading()
            parts.policy.read { [notifier] in parts.devices.rescan(notifier.ready) }
        default:
            notifier.stopping()
            stop()
        }
    }

    private func leave(_ status: Int32) {
        exitStatus = status
        stop()
    }

    private func stop() {
        guard !isStopping else { return }
        isStopping = true
        guard let parts else { return Loop.shared.stop() }
        guard let service else { return parts.store.close { Loop.shared.stop() } }
        service.coordinator.stop {
            service.coordinator.connection.flush()
            Loop.shared.stop()
        }
    }

    nonisolated static func wallClock() -> EpochSeconds { EpochSeconds(time(nil)) }
}
