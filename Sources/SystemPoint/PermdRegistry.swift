// The permds of the users, on the system bus: who they are, what they are asked and what they answer
// (dbus/org.permd.Guard1.xml).

package import DBus
package import GuardRules
package import Logging
package import PermissionModel
import ProcessIdentity
package import System

@LoopActor
package final class PermdRegistry {
    /// Milliseconds in which permd says that it has a question.
    private static let receiptTime: Int32 = 1000
    /// How often a call is made that is not received.
    private static let mostCalls = 10

    /// What the properties say.
    package struct State {
        package var cuts: Bool
        package var problems: [String]

        package init(cuts: Bool = false, problems: [String] = []) { (self.cuts, self.problems) = (cuts, problems) }
    }

    private struct Permd {
        let name: String
        let process: ConnectedProcess
        let end: Subscription
    }

    /// The path of a process's executable, if that is the system's.
    private let executable: @LoopActor (Int32) -> [UInt8]?
    private let log: Logger
    /// Gets what permds say.
    package var feed: @LoopActor (GuardEvent) -> Void = { _ in }
    package var state: @LoopActor () -> State = { State() }
    /// Called before a user's first permd is asked, and when a program could be one.
    package var onUser: @LoopActor (UInt32) -> Void = { _ in }
    /// Called when a user's permd has registered.
    package var onRegistered: @LoopActor (UInt32) -> Void = { _ in }
    /// The name of this point on the bus.
    private let name: String
    private let bus: ReconnectingBus
    private var server: ObjectServer?
    private var permds: [UInt32: Permd] = [:]
    /// The connections whose registration is being checked, one of each: nobody keeps others from registering.
    private var checks: Set<String> = []
    /// What each user's permd has said in this turn that it may decide otherwise; nil is any permission. However often it
    /// says so, the programs of its user are gone through once.
    private var changes: [UInt32: Set<Permission?>] = [:]

    /// - Parameter executable: Passes the path of a process's executable, if that is the system's.
    package init(
        _ name: String, on bus: ReconnectingBus = ReconnectingBus(.system), log: Logger,
        executable: @escaping @LoopActor (Int32) -> [UInt8]?
    ) {
        (self.name, self.bus, self.executable, self.log) = (name, bus, executable, log)
    }

    /// Serves on the system bus, and again after a loss of it.
    ///
    /// - Parameter onRefusal: Called if the bus does not let this program own its name.
    package func start(onRefusal: @escaping @LoopActor () -> Void) {
        bus.follow { [weak self] event in
            switch event {
            case .opened(let connection): self?.serve(connection, onRefusal)
            case .lost: self?.lost()
            case .failed(let error): self?.log.warning("the system bus cannot be reached: \(error.message)")
            }
        }
    }

    private func serve(_ connection: Connection, _ onRefusal: @escaping @LoopActor () -> Void) {
        let server = ObjectServer(connection: connection) { call, text in
            call.fail(PermissionError(.invalidArguments, text))
        }
        server.add(served, at: BusNames.guardObject)
        self.server = server
        connection.requestName(name) { [log, name] result in
            switch result {
            case .success(true): return log.info("serving \(name)")
            case .success(false): log.error("another program owns \(name)")
            case .failure(let error): log.error("the bus refuses the name \(name): \(error.message)")
            }
            onRefusal()
        }
    }

    private func lost() {
        server = nil
        checks = []
        for user in permds.keys { departed(user) }
    }

    private func departed(_ user: UInt32) {
        guard let permd = permds.removeValue(forKey: user) else { return }
        permd.end.cancel()
        log.info("the permd of user \(user) has left")
        feed(.departed(user: user))
    }

    /// Whether a process is the permd of its user.
    package func isRegistered(_ pid: Int32) -> Bool {
        permds.values.contains { $0.process.pid == pid && Pidfd.isAlive($0.process.pidfd.raw) }
    }

    private var served: Interface {
        Interface(
            name: BusNames.guardInterface,
            methods: [
                Method(name: "Register", inputs: [:], outputs: [:]) { [weak self] in self?.register($0) },
                Method(name: "Answer", inputs: ["request": "t", "answer": "s"], outputs: [:]) { [weak self] in
                    self?.answer($0)
                },
                Method(name: "Recheck", inputs: ["permission": "s"], outputs: [:]) { [weak self] in self?.recheck($0) },
            ],
            properties: [
                Property("Version", "s", .never) { _ in .string(ProgramOptions.version) },
                Property("Cuts", "b", .silent) { [weak self] _ in .bool(self?.state().cuts ?? false) },
                Property("Problems", "as", .silent) { [weak self] _ in .strings(self?.state().problems ?? []) },
            ])
    }

    // MARK: Calls

    private func register(_ call: MethodCall) {
        guard let connection = bus.connection else { return }
        guard checks.insert(call.sender).inserted else { return call.fail(PermissionError(.limitExceeded)) }
        ConnectedProcess.find(call.sender, on: connection) { [weak self] found in
            guard let self else { return }
            checks.remove(call.sender)
            do throws(PermissionError) {
                try add(call.sender, found, connection)
                call.reply()
            } catch {
                call.fail(error)
            }
        }
    }

    private func add(
        _ name: String, _ found: Result<ConnectedProcess, ConnectedProcess.Unknown>, _ connection: Connection
    ) throws(PermissionError) {
        let process: ConnectedProcess
        switch found {
        case .success(let it): process = it
        case .failure(let problem):
            // What is not known may be a permd, so its user's programs do not pass meanwhile.
            if let user = problem.user { onUser(user) }
            throw PermissionError(.limitExceeded, "\(problem.reason.reason); try again")
        }
        guard let user = process.user, let path = executable(process.pid),
            Folders.fileName(of: path) == "permd"
        else { throw PermissionError(.accessDenied, "only a permd that root has installed may register") }
        guard permds[user] == nil else {
            throw PermissionError(.limitExceeded, "another permd of user \(user) is registered")
        }
        let end = connection.whenNameVanishes(name) { [weak self] in self?.departed(user) }
        permds[user] = Permd(name: name, process: process, end: end)
        log.info("the permd of user \(user) is \(name)")
        onUser(user)
        feed(.registered(user: user, pid: process.pid))
        onRegistered(user)
    }

    /// The user whose permd the caller is.
    private func user(_ call: MethodCall) -> UInt32? {
        if let user = permds.first(where: { $0.value.name == call.sender })?.key { return user }
        call.fail(PermissionError(.accessDenied, "only a registered permd may call this"))
        return nil
    }

    private func answer(_ call: MethodCall) {
        guard let user = user(call) else { return }
        guard let id = call.arguments[0].uint64Value else { return }
        guard let answer = call.arguments[1].stringValue.flatMap(GuardAnswer.init(rawValue:)) else {
            // No other answer follows.
            feed(.answered(user: user, id, .undecided))
            let words = GuardAnswer.allCases.map(\.rawValue).joined(separator: ", ")
            return call.fail(PermissionError(.invalidArguments, "the answer is none of: \(words)"))
        }
        call.reply()
        feed(.answered(user: user, id, answer))
    }

    private func recheck(_ call: MethodCall) {
        guard let user = user(call) else { return }
        let name = call.arguments[0].stringValue ?? ""
        let permission = Permission(rawValue: name)
        guard permission != nil || name.isEmpty else {
            return call.fail(PermissionError(.invalidArguments, "there is no such permission"))
        }
        call.reply()
        if changes.isEmpty { Loop.shared.later { [weak self] in self?.turnEnded() } }
        changes[user, default: []].insert(permission)
    }

    private func turnEnded() {
        let changes = self.changes
        self.changes = [:]
        for (user, permissions) in changes {
            let which: Set<Permission?> = permissions.contains(nil) ? [nil] : permissions
            for permission in which { feed(.recheck(user: user, permission)) }
        }
    }

    // MARK: Questions

    /// Reports whether the permd has the question. One that it does not understand is refused.
    package func ask(
        _ user: UInt32, _ id: AskID, _ process: UnixFD, _ permission: Permission, device: UInt64, program: String,
        waits: Bool
    ) {
        tell(
            user, "Ask",
            [
                .uint64(id), .unixFD(process), .string(permission.rawValue), .uint64(device), .string(program),
                .bool(waits),
            ]
        ) { [weak self] error in
            guard let self else { return }
            guard let error else { return feed(.received(user: user, id)) }
            guard !error.isTransient else { return feed(.notReceived(user: user, id)) }
            log.warning("the permd of user \(user) does not take a question: \(error.message)")
            feed(.answered(user: user, id, .undecided))
        }
    }

    package func withdraw(_ user: UInt32, _ id: AskID) { insist(user, "Withdraw", [.uint64(id)]) }

    /// A process uses what this point stands before.
    ///
    /// - Parameter device: Its ID in org.permd.Devices1, or empty.
    package func beginUse(_ user: UInt32, _ use: UInt64, _ process: UnixFD, _ permission: Permission, device: String) {
        insist(
            user, "BeginUse", [.uint64(use), .unixFD(process), .string(permission.rawValue), .string(device)])
    }

    package func endUse(_ user: UInt32, _ use: UInt64) { insist(user, "EndUse", [.uint64(use)]) }

    /// Makes a call until it is received.
    private func insist(_ user: UInt32, _ member: String, _ body: [Value], calls: Int = 1) {
        tell(user, member, body) { [weak self] error in
            guard error?.isTransient == true, calls < PermdRegistry.mostCalls else { return }
            Loop.shared.after(milliseconds: Int64(PermdRegistry.receiptTime)) { [weak self] in
                self?.insist(user, member, body, calls: calls + 1)
            }
        }
    }

    /// Calls a user's permd. The completion gets nil after success, and does not run if that permd has left meanwhile.
    private func tell(
        _ user: UInt32, _ member: String, _ body: [Value], _ completion: @escaping @LoopActor (BusError?) -> Void
    ) {
        guard let permd = permds[user], let connection = bus.connection else { return }
        connection.call(
            .call(
                destination: permd.name, path: BusNames.guardClientObject, interface: BusNames.guardClientInterface,
                member: member, body), timeoutMilliseconds: PermdRegistry.receiptTime
        ) { [weak self] result in
            guard self?.permds[user]?.name == permd.name else { return }
            if case .failure(let error) = result { completion(error) } else { completion(nil) }
        }
    }
}
