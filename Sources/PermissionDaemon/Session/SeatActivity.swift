// Whether the user is present, according to logind: not while all sessions of the user are locked or in the background.

import DBus
import Glibc
import Logging
import System

@LoopActor
final class SeatActivity {
    /// Whether prompts may be shown. Also true without logind, or if the user has no session.
    private(set) var isThere = true

    private struct Session {
        var isActive: Bool
        var isLocked: Bool
        /// Whether it is a local session. A remote one, such as that of ssh, is always active and never locked.
        var hasSeat: Bool
    }

    private let bus: SystemBus
    private let user: UInt32
    private let answerTime: Int64
    private let log: Logger
    private var onChange: (@LoopActor (Bool) -> Void)?
    private var onSwitch: (@LoopActor () -> Void)?
    /// Sessions by object path; nil until logind has answered.
    private var sessions: [String: Session]?
    /// The listed sessions that logind has not answered about. Nothing is judged without them: the active session that
    /// is answered first may be a remote one, and the one that is locked the next.
    private var unanswered: Set<String> = []
    /// Ends the wait for logind's first answer.
    private var patience: LoopTimer?
    /// When the system bus was lost. One that cannot be reached for ``answerTime`` has ended.
    private var lostAt: Int64?

    /// - Parameter answerTime: Milliseconds that prompts wait for logind's first answer, so that none appears on a locked
    ///   screen. It can take seconds while a login starts everything at once.
    init(on bus: SystemBus, user: UInt32 = getuid(), answerTime: Int64 = 10_000, log: Logger) {
        self.bus = bus
        self.user = user
        self.answerTime = answerTime
        self.log = log
    }

    /// Reports each change of ``isThere`` and each switch of a session to or from the foreground. ``isThere`` is false
    /// until logind has answered, and true without logind or without a system bus that answers.
    func start(onChange: @escaping @LoopActor (Bool) -> Void, onSwitch: @escaping @LoopActor () -> Void) {
        self.onChange = onChange
        self.onSwitch = onSwitch
        become(false, "permd waits for logind before it prompts")
        // An answer that comes later still counts.
        patience = Loop.shared.after(milliseconds: answerTime) { [weak self] in
            guard let self else { return }
            becomeUnknown("no answer within \(answerTime) ms")
        }
        bus.follow { [weak self] event in
            guard let self else { return }
            switch event {
            case .opened(let connection):
                lostAt = nil
                subscribe(connection)
                list()
            // The last state stays in force, so that cutting the connection cannot bring prompts onto a locked screen.
            case .lost:
                lostAt = Loop.uptimeMilliseconds()
                log.warning(
                    "The system bus was lost: the last state of the session that logind reported stays in force")
            case .failed(let error):
                guard error.name == BusError.Name.noServer else { return }
                let isGone = lostAt.map { Loop.uptimeMilliseconds() - $0 >= answerTime } ?? (sessions == nil)
                if isGone { forget(.failure(error)) }
            }
        }
    }

    private func subscribe(_ connection: Connection) {
        connection.onSignal(sender: Login.name, path: Login.path, interface: Login.manager, member: "SessionNew") {
            [weak self] in self?.ask($0.body.last?.objectPathValue)
        }
        connection.onSignal(sender: Login.name, path: Login.path, interface: Login.manager, member: "SessionRemoved") {
            [weak self] in self?.remove($0.body.last?.objectPathValue)
        }
        connection.onSignal(
            sender: Login.name, interface: StandardInterfaces.properties, member: "PropertiesChanged",
            firstArgument: Login.session
        ) { [weak self] in self?.changed($0.path) }
        // While logind restarts, the last state stays in force.
        connection.onOwnerChange(of: Login.name) { [weak self] in if $0 != nil { self?.list() } }
    }

    private enum Login {
        static let name = "org.freedesktop.login1"
        static let path = "/org/freedesktop/login1"
        static let manager = "org.freedesktop.login1.Manager"
        static let session = "org.freedesktop.login1.Session"
    }

    // MARK: Asking logind

    private func list() {
        call(Login.path, Login.manager, "ListSessions") { [weak self] result in
            guard let self else { return }
            guard let rows = try? result.get().first?.elements else { return isAbsent(result) ? forget(result) : () }
            // Each row has the session ID, user ID, user name, seat and object path.
            let own = rows.compactMap { row -> String? in
                guard let fields = row.elements, fields.count == 5, fields[1].uint32Value == user else { return nil }
                return fields[4].objectPathValue
            }
            sessions = sessions?.filter { own.contains($0.key) } ?? [:]
            unanswered = Set(own)
            if own.isEmpty { evaluate() }
            for path in own { ask(path) }
        }
    }

    /// Ignores other users' sessions.
    private func changed(_ path: String?) {
        if let path, sessions?[path] != nil { ask(path) }
    }

    /// Queries one session. Sessions of other users, and those of managers and greeters, are ignored.
    private func ask(_ path: String?) {
        guard let path, sessions != nil else { return }
        call(path, StandardInterfaces.properties, "GetAll", [.string(Login.session)]) { [weak self] result in
            guard let self, sessions != nil else { return }
            guard case .success(let answer) = result else { return failed(path, result) }
            guard let found = answer.first?.properties, found["User"]?.elements?.first?.uint32Value == user,
                found["Class"]?.stringValue?.hasPrefix("user") == true, found["State"]?.stringValue != "closing"
            else { return remove(path) }
            let before = sessions?[path]
            let now = Session(
                isActive: found["Active"]?.boolValue ?? true, isLocked: found["LockedHint"]?.boolValue ?? false,
                hasSeat: found["Seat"]?.elements?.first?.stringValue?.isEmpty == false)
            sessions?[path] = now
            unanswered.remove(path)
            // By the time of this answer, logind has changed the access rights of the devices.
            if before?.isActive != now.isActive { onSwitch?() }
            evaluate()
        }
    }

    /// Without an answer, what is known of the session stays in force until logind says that it was removed. If nothing
    /// is known, logind is asked again when it or the bus is back.
    private func failed(_ path: String, _ answer: Result<[Value], BusError>) {
        guard sessions?[path] != nil || !isAway(answer) else { return }
        unanswered.remove(path)
        evaluate()
    }

    private func call(
        _ path: String, _ interface: String, _ member: String, _ arguments: [Value] = [],
        _ then: @escaping @LoopActor (Result<[Value], BusError>) -> Void
    ) {
        let message = Message.call(
            destination: Login.name, path: path, interface: interface, member: member, arguments, noAutoStart: true)
        // However late the answer comes, it says whether the screen is locked.
        bus.connection?.call(message, timeoutMilliseconds: nil) { [weak self] result in
            if self != nil { then(result.map(\.body)) }
        }
    }

    private func remove(_ path: String?) {
        guard let path, sessions != nil else { return }
        sessions?[path] = nil
        unanswered.remove(path)
        evaluate()
    }

    // MARK: The verdict

    /// Whether there is no logind, or none that answers as it should. After any other failure the last state stays in
    /// force: logind or the bus went away in between, and is asked again when it is back.
    private func isAbsent(_ answer: Result<[Value], BusError>) -> Bool {
        guard case .failure(let error) = answer else { return true }
        return [BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner].contains(error.name)
    }

    /// Whether logind or the bus went away before it answered.
    private func isAway(_ answer: Result<[Value], BusError>) -> Bool {
        guard case .failure(let error) = answer else { return false }
        return isAbsent(answer) || [BusError.Name.noReply, BusError.Name.disconnected].contains(error.name)
    }

    private func forget(_ answer: Result<[Value], BusError>) {
        sessions = nil
        unanswered = []
        answered()
        if case .failure(let error) = answer { becomeUnknown(error.message) } else { becomeUnknown("a wrong answer") }
    }

    private func becomeUnknown(_ why: String) {
        become(true, "logind does not report whether the session is locked (\(why)): prompts are always shown")
    }

    /// One active and unlocked session is enough. Remote sessions count only if there are no local ones, because they
    /// would bring prompts onto a locked screen.
    private func evaluate() {
        guard let sessions, unanswered.isEmpty else { return }
        answered()
        let here = sessions.values.filter(\.hasSeat)
        let counting = here.isEmpty ? Array(sessions.values) : here
        if counting.isEmpty || counting.contains(where: { $0.isActive && !$0.isLocked }) {
            become(true, "the user's session is active and unlocked, or there is none: prompts are shown")
        } else {
            become(false, "the session is locked or in the background: prompts wait")
        }
    }

    private func answered() {
        patience?.cancel()
        patience = nil
    }

    private func become(_ isThere: Bool, _ why: String) {
        guard isThere != self.isThere else { return }
        self.isThere = isThere
        log.info("\(why)")
        onChange?(isThere)
    }
}
