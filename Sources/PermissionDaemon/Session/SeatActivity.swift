// Whether a person is in front of one of this user's sessions, by logind: not while all are locked or in the background.

import DBus
import Glibc
import Logging

@LoopActor
final class SeatActivity {
    /// True as well where there is no logind, or no session of this user: somebody asked for permd to run.
    private(set) var isThere = true

    private struct Session {
        var isActive: Bool
        var isLocked: Bool
        /// It has a screen and a keyboard here; one from afar, as by ssh, is always active and never locked.
        var hasSeat: Bool
    }

    /// How long logind has to answer, in milliseconds; a prompt that should not be on a locked screen waits for it. Seconds
    /// go by while a login starts everything at once.
    private static let answerTime: Int32 = 10_000

    private let bus: SystemBus
    private let user: UInt32
    private let log: Logger
    private var onChange: (@LoopActor (Bool) -> Void)?
    private var onSwitch: (@LoopActor () -> Void)?
    /// By object path; nil while logind has not been heard.
    private var sessions: [String: Session]?
    /// Answers of an earlier logind do not count.
    private var epoch = 0

    init(address: BusAddress = .system, user: UInt32 = getuid(), log: Logger) {
        bus = SystemBus(address)
        self.user = user
        self.log = log
    }

    /// Reports each change of ``isThere``, and when a session has come to the front or left it. Until logind has answered
    /// nobody is there; without one, or without a system bus that answers, somebody.
    func start(onChange: @escaping @LoopActor (Bool) -> Void, onSwitch: @escaping @LoopActor () -> Void) {
        self.onChange = onChange
        self.onSwitch = onSwitch
        become(false, "permd waits for logind before it prompts")
        bus.start { [weak self] event in
            switch event {
            case .opened(let connection):
                self?.subscribe(connection)
                self?.list()
            // What logind said last stands meanwhile: whoever can cut our connection must not bring prompts onto a locked
            // screen.
            case .lost: self?.epoch += 1
            case .silent:
                self?.log.warning(
                    "The system bus does not answer: whether the session is locked stays as logind said last")
            case .absent(let error): self?.forget(.failure(error))
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
            sender: Login.name, interface: Login.properties, member: "PropertiesChanged", firstArgument: Login.session
        ) { [weak self] in self?.changed($0.path) }
        connection.onSignal(
            sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged",
            firstArgument: Login.name
        ) { [weak self] in self?.ownerChanged($0) }
    }

    private enum Login {
        static let name = "org.freedesktop.login1"
        static let path = "/org/freedesktop/login1"
        static let manager = "org.freedesktop.login1.Manager"
        static let session = "org.freedesktop.login1.Session"
        static let properties = "org.freedesktop.DBus.Properties"
    }

    // MARK: Asking logind

    private func ownerChanged(_ signal: Message) {
        guard signal.body.count == 3, let owner = signal.body[2].stringValue else { return }
        // A new one is asked anew; while it restarts, what the last one said stands.
        if !owner.isEmpty { list() }
    }

    private func list() {
        epoch += 1
        call(Login.path, Login.manager, "ListSessions") { [weak self] result in
            guard let self else { return }
            guard let rows = try? result.get().first?.elements else { return forget(result) }
            // Rows of id, uid, name of the user, seat and object.
            let own = rows.compactMap { row -> String? in
                guard let fields = row.elements, fields.count == 5, fields[1].uint32Value == user else { return nil }
                return fields[4].objectPathValue
            }
            sessions = sessions?.filter { own.contains($0.key) } ?? [:]
            if own.isEmpty { weigh() }
            for path in own { ask(path) }
        }
    }

    /// Other people's sessions change all day.
    private func changed(_ path: String?) {
        if let path, sessions?[path] != nil { ask(path) }
    }

    /// Looks at one session; those of others and of no person are left alone.
    private func ask(_ path: String?) {
        guard let path, sessions != nil else { return }
        call(path, Login.properties, "GetAll", [.string(Login.session)]) { [weak self] result in
            guard let self, sessions != nil else { return }
            let found = try? result.get().first?.properties
            guard let found, found["User"]?.elements?.first?.uint32Value == user,
                found["Class"]?.stringValue?.hasPrefix("user") == true, found["State"]?.stringValue != "closing"
            else { return remove(path) }
            let before = sessions?[path]
            let now = Session(
                isActive: found["Active"]?.boolValue ?? true, isLocked: found["LockedHint"]?.boolValue ?? false,
                hasSeat: found["Seat"]?.elements?.first?.stringValue?.isEmpty == false)
            sessions?[path] = now
            // logind answers after it has handed over the devices.
            if before?.isActive != now.isActive { onSwitch?() }
            weigh()
        }
    }

    private func call(
        _ path: String, _ interface: String, _ member: String, _ arguments: [Value] = [],
        _ then: @escaping @LoopActor (Result<[Value], BusError>) -> Void
    ) {
        let asked = epoch
        let message = Message.call(
            destination: Login.name, path: path, interface: interface, member: member, arguments, noAutoStart: true)
        bus.connection?.call(message, timeoutMilliseconds: SeatActivity.answerTime) { [weak self] result in
            guard let self, epoch == asked else { return }
            then(result.map(\.body))
        }
    }

    private func remove(_ path: String?) {
        guard let path, sessions != nil else { return }
        sessions?[path] = nil
        weigh()
    }

    // MARK: The verdict

    private func forget(_ answer: Result<[Value], BusError>) {
        sessions = nil
        var why = ""
        if case .failure(let error) = answer { why = " (\(error.message))" }
        become(true, "logind does not tell whether the session is locked\(why): prompts are always shown")
    }

    /// One session in front is enough, on a screen or in a terminal. Sessions from afar count where there are no others:
    /// they would show prompts behind a locked screen.
    private func weigh() {
        guard let sessions else { return }
        let here = sessions.values.filter(\.hasSeat)
        let counting = here.isEmpty ? Array(sessions.values) : here
        if counting.isEmpty || counting.contains(where: { $0.isActive && !$0.isLocked }) {
            become(true, "somebody is in front: prompts are shown")
        } else {
            become(false, "the session is locked or in the background: prompts wait")
        }
    }

    private func become(_ isThere: Bool, _ why: String) {
        guard isThere != self.isThere else { return }
        self.isThere = isThere
        log.info("\(why)")
        onChange?(isThere)
    }
}
