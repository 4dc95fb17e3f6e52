// The user's login sessions, as logind reports them: those of people, without managers and greeters, until they close.

import CSystemd
import DBus
import Glibc
import Logging
import System

/// A login session of the user.
struct LoginSession: Equatable {
    /// logind's ID, such as `2`.
    var id: String
    /// Whether it is in the foreground of its seat.
    var isActive: Bool
    var isLocked: Bool
    /// Whether it is a local session. A remote one, such as that of ssh, is always active and never locked.
    var hasSeat: Bool
}

@LoopActor
final class LoginSessions {
    enum View: Equatable {
        /// logind has not answered yet.
        case awaited
        /// There is no logind, or none that answers as it should, for this reason.
        case absent(String)
        /// In the order of their IDs.
        case sessions([LoginSession])
    }

    /// What is known. After a loss of logind or of the bus, the last view stays: cutting the connection neither unlocks a
    /// screen nor ends a session.
    private(set) var view = View.awaited

    private let bus: ReconnectingBus
    private let user: UInt32
    private let answerTime: Int64
    private let log: Logger
    private var onChange: (@LoopActor (View) -> Void)?
    private var onSwitch: (@LoopActor () -> Void)?
    private var waiting: [@LoopActor () -> Void] = []
    /// Sessions by object path; nil until logind has answered.
    private var sessions: [String: LoginSession]?
    /// The listed sessions that logind has not answered about. Nothing is judged without them: the active session that
    /// is answered first may be a remote one, and the one that is locked the next.
    private var unanswered: Set<String> = []
    /// Ends the wait for logind's first answer.
    private var patience: LoopTimer?
    /// When the system bus was lost. One that cannot be reached for ``answerTime`` has ended.
    private var lostAt: Int64?
    /// Reports sessions that close, of which logind sends no signal while programs of them remain (sd-login(3)).
    private var monitor: OpaquePointer?
    private var monitorWatch: WatchToken?

    /// - Parameter answerTime: Milliseconds that prompts wait for logind's first answer, so that none appears on a locked
    ///   screen. It can take seconds while a login starts everything at once.
    init(on bus: ReconnectingBus, user: UInt32 = getuid(), answerTime: Int64 = 10_000, log: Logger) {
        self.bus = bus
        self.user = user
        self.answerTime = answerTime
        self.log = log
    }

    isolated deinit {
        monitorWatch?.cancel()
        sd_login_monitor_unref(monitor)
    }

    /// Reports each change of ``view``, and each switch of a session to or from the foreground.
    func start(onChange: @escaping @LoopActor (View) -> Void, onSwitch: @escaping @LoopActor () -> Void) {
        self.onChange = onChange
        self.onSwitch = onSwitch
        // An answer that comes later still counts.
        patience = Loop.shared.after(milliseconds: answerTime) { [weak self] in
            guard let self else { return }
            publish(.absent("no answer within \(answerTime) ms"))
        }
        bus.follow { [weak self] event in
            guard let self else { return }
            switch event {
            case .opened(let connection):
                lostAt = nil
                subscribe(connection)
                list()
            case .lost:
                lostAt = Loop.uptimeMilliseconds()
                log.warning("The system bus was lost: what logind said last of the sessions stays in force")
            case .failed(let error):
                guard error.name == BusError.Name.noServer else { return }
                let isGone = lostAt.map { Loop.uptimeMilliseconds() - $0 >= answerTime } ?? (sessions == nil)
                if isGone { forget(.failure(error)) }
            }
        }
        guard sd_login_monitor_new("session", &monitor) >= 0, let monitor else { return }
        monitorWatch = Loop.shared.watch(unowned: sd_login_monitor_get_fd(monitor), .readable) { [weak self] _ in
            sd_login_monitor_flush(monitor)
            self?.list()
        }
    }

    /// Runs `body` once ``view`` is not awaited any more.
    func whenAnswered(_ body: @escaping @LoopActor () -> Void) {
        if view == .awaited { waiting.append(body) } else { body() }
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
            guard let found = answer.first?.properties, let id = found["Id"]?.stringValue,
                found["User"]?.elements?.first?.uint32Value == user,
                found["Class"]?.stringValue?.hasPrefix("user") == true, found["State"]?.stringValue != "closing"
            else { return remove(path) }
            let before = sessions?[path]
            let now = LoginSession(
                id: id, isActive: found["Active"]?.boolValue ?? true,
                isLocked: found["LockedHint"]?.boolValue ?? false,
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

    // MARK: The view

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
        guard case .failure(let error) = answer else { return publish(.absent("a wrong answer")) }
        publish(.absent(error.message))
    }

    private func evaluate() {
        guard let sessions, unanswered.isEmpty else { return }
        publish(.sessions(sessions.values.sorted { $0.id < $1.id }))
    }

    private func publish(_ view: View) {
        patience?.cancel()
        patience = nil
        guard view != self.view else { return }
        self.view = view
        onChange?(view)
        let bodies = waiting
        waiting = []
        for body in bodies { body() }
    }
}
