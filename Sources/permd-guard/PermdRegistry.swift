// The permds of the users, on the system bus: who they are, what they are asked and what they answer
// (dbus/org.permd.Guard1.xml).

import DBus
import GuardRules
import Logging
import PermissionModel
import ProcessIdentity
import System

@LoopActor
final class PermdRegistry {
    /// Registrations that are being checked. More are refused: each asks the bus and reads files.
    private static let mostChecks = 64

    struct State {
        var cuts = false
        var problems: [String] = []
    }

    private struct Permd {
        let name: String
        let end: Subscription
    }

    private let processes: ProcessIdentifier
    /// The path of a process's executable, if that is the system's.
    private let executable: @LoopActor (Int32) -> [UInt8]?
    private let log: Logger
    private let feed: @LoopActor (GuardEvent) -> Void
    var state: @LoopActor () -> State = { State() }
    /// Called before a user's first permd is asked.
    var onUser: @LoopActor (UInt32) -> Void = { _ in }
    private let bus: ReconnectingBus
    private var server: ObjectServer?
    private var permds: [UInt32: Permd] = [:]
    private var checks = 0

    /// - Parameter executable: Passes the path of a process's executable, if that is the system's.
    init(
        _ processes: ProcessIdentifier, on address: BusAddress = .system, log: Logger,
        executable: @escaping @LoopActor (Int32) -> [UInt8]?, feed: @escaping @LoopActor (GuardEvent) -> Void
    ) {
        (self.processes, self.executable, self.log, self.feed) = (processes, executable, log, feed)
        bus = ReconnectingBus(address)
    }

    /// Serves on the system bus, and again after a loss of it.
    ///
    /// - Parameter onRefusal: Called if the bus does not let this program own its name.
    func start(onRefusal: @escaping @LoopActor () -> Void) {
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
            PermdRegistry.fail(call, PermissionError(.invalidArguments, text))
        }
        server.add(served, at: BusNames.guardObject)
        self.server = server
        connection.requestName(BusNames.guardService) { [log] result in
            switch result {
            case .success(true): return log.info("serving \(BusNames.guardService)")
            case .success(false): log.error("another program owns \(BusNames.guardService)")
            case .failure(let error): log.error("the bus refuses the name \(BusNames.guardService): \(error.message)")
            }
            onRefusal()
        }
    }

    private func lost() {
        server = nil
        for user in permds.keys { departed(user) }
    }

    private func departed(_ user: UInt32) {
        guard let permd = permds.removeValue(forKey: user) else { return }
        permd.end.cancel()
        log.info("the permd of user \(user) has left")
        feed(.departed(user: user))
    }

    private var served: Interface {
        Interface(
            name: BusNames.guardInterface,
            methods: [
                Method(name: "Register", inputs: [:], outputs: [:]) { [weak self] in self?.register($0) },
                Method(name: "Received", inputs: ["request": "t"], outputs: [:]) { [weak self] in self?.received($0) },
                Method(name: "Answer", inputs: ["request": "t", "answer": "s"], outputs: [:]) { [weak self] in
                    self?.answer($0)
                },
                Method(name: "Recheck", inputs: ["permission": "s"], outputs: [:]) { [weak self] in self?.recheck($0) },
            ],
            signals: [
                Signal(
                    "Asked",
                    [
                        "request": "t", "process": "h", "permission": "s", "device": "t", "program": "s", "waits": "b",
                    ]), Signal("Withdrawn", ["request": "t"]),
            ],
            properties: [
                Property("Version", "s", .never) { _ in .string(ProgramOptions.version) },
                Property("Cuts", "b", .silent) { [weak self] _ in .bool(self?.state().cuts ?? false) },
                Property("Problems", "as", .silent) { [weak self] _ in .strings(self?.state().problems ?? []) },
            ])
    }

    // MARK: Calls

    private static func fail(_ call: MethodCall, _ error: PermissionError) {
        call.fail(name: error.kind.name, body: [.string(error.message), .bool(error.kind.isRetryable)])
    }

    private func register(_ call: MethodCall) {
        guard let connection = bus.connection else { return }
        guard checks < PermdRegistry.mostChecks else {
            return PermdRegistry.fail(call, PermissionError(.limitExceeded))
        }
        checks += 1
        ConnectionIdentifier(connection, processes).identify(call.sender) { [weak self] found in
            connection.askBus("GetConnectionUnixUser", .string(call.sender)) { user in
                guard let self else { return }
                self.checks -= 1
                do throws(PermissionError) {
                    try self.add(call.sender, of: user?.uint32Value, try? found.get().key.pid, connection)
                    call.reply()
                } catch {
                    PermdRegistry.fail(call, error)
                }
            }
        }
    }

    private func add(
        _ name: String, of user: UInt32?, _ pid: Int32?, _ connection: Connection
    ) throws(PermissionError) {
        guard let user, let pid, let path = executable(pid),
            path.split(separator: UInt8(ascii: "/")).last?.elementsEqual("permd".utf8) == true
        else { throw PermissionError(.accessDenied, "only a permd that root has installed may register") }
        guard permds[user] == nil else {
            throw PermissionError(.limitExceeded, "another permd of user \(user) is registered")
        }
        let end = connection.whenNameVanishes(name) { [weak self] in self?.departed(user) }
        permds[user] = Permd(name: name, end: end)
        log.info("the permd of user \(user) is \(name)")
        onUser(user)
        feed(.registered(user: user))
    }

    /// The user whose permd the caller is.
    private func user(_ call: MethodCall) -> UInt32? {
        if let user = permds.first(where: { $0.value.name == call.sender })?.key { return user }
        PermdRegistry.fail(call, PermissionError(.accessDenied, "only a registered permd may call this"))
        return nil
    }

    private func received(_ call: MethodCall) {
        guard let user = user(call), let id = call.arguments[0].uint64Value else { return }
        call.reply()
        feed(.received(user: user, id))
    }

    private func answer(_ call: MethodCall) {
        guard let user = user(call) else { return }
        guard let id = call.arguments[0].uint64Value else { return }
        guard let answer = call.arguments[1].stringValue.flatMap(GuardAnswer.init(rawValue:)) else {
            // No other answer follows.
            feed(.answered(user: user, id, .undecided))
            let words = GuardAnswer.allCases.map(\.rawValue).joined(separator: ", ")
            return PermdRegistry.fail(call, PermissionError(.invalidArguments, "the answer is none of: \(words)"))
        }
        call.reply()
        feed(.answered(user: user, id, answer))
    }

    private func recheck(_ call: MethodCall) {
        guard let user = user(call) else { return }
        let name = call.arguments[0].stringValue ?? ""
        let permission = Permission(rawValue: name)
        guard permission != nil || name.isEmpty else {
            return PermdRegistry.fail(call, PermissionError(.invalidArguments, "there is no such permission"))
        }
        call.reply()
        feed(.recheck(user: user, permission))
    }

    // MARK: Signals

    func ask(
        _ user: UInt32, _ id: AskID, _ process: UnixFD, _ permission: Permission, device: UInt64, program: String,
        waits: Bool
    ) {
        send(
            "Asked", to: user,
            [
                .uint64(id), .unixFD(process), .string(permission.rawValue), .uint64(device), .string(program),
                .bool(waits),
            ])
    }

    func withdraw(_ user: UInt32, _ id: AskID) { send("Withdrawn", to: user, [.uint64(id)]) }

    private func send(_ member: String, to user: UInt32, _ body: [Value]) {
        guard let permd = permds[user], let connection = bus.connection else { return }
        connection.send(
            .signal(
                path: BusNames.guardObject, interface: BusNames.guardInterface, member: member, body,
                destination: permd.name))
    }
}
