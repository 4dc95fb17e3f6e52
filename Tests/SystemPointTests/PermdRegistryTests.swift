// What a point of the system does on its bus: who may register, what a registered permd may do, and who hears what.

import DBus
import Glibc
import GuardRules
import Logging
import PermissionModel
import PermissionTestKit
import ProcessIdentity
import System
import SystemPoint
import TestSupport
import Testing

@LoopActor
private final class Stage {
    let bus: PrivateBus
    let events = EventLog<GuardEvent>()
    let registry: PermdRegistry
    let user = getuid()
    private var servers: [ObjectServer] = []

    /// - Parameter executable: That of every process.
    init(executable: String? = "/usr/libexec/permd") async throws {
        bus = try await PrivateBus()
        let events = events
        registry = PermdRegistry(
            BusNames.guardService, on: ReconnectingBus(.address(bus.address)),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            executable: { _ in executable.map { Array($0.utf8) } })
        registry.feed = { events.add($0) }
        let observer = try bus.connect()
        let owners = EventLog<String?>()
        observer.onOwnerChange(of: BusNames.guardService) { owners.add($0) }
        // The bus has the match rule when it has answered.
        try await observer.get("GetId", of: Message.busName)
        registry.start {}
        try await owners.first("the owner of the name") { $0 != nil }
    }

    /// A connection that serves what the guard asks, and the calls that it got, each as its arguments.
    func client(
        refusing refusals: [String] = []
    ) throws -> (connection: Connection, calls: EventLog<[Value]>) {
        let connection = try bus.connect()
        let calls = EventLog<[Value]>()
        let server = ObjectServer(connection: connection) { call, text in
            call.fail(name: ErrorKind.invalidArguments.name, body: [.string(text), .bool(false)])
        }
        var refusals = refusals
        func method(_ name: String, _ inputs: Arguments) -> DBus.Method {
            DBus.Method(name: name, inputs: inputs, outputs: [:]) { call in
                calls.add(call.arguments)
                guard refusals.isEmpty else { return call.fail(name: refusals.removeFirst(), body: [.string("no")]) }
                call.reply()
            }
        }
        server.add(
            Interface(
                name: BusNames.guardClientInterface,
                methods: [
                    method(
                        "Ask",
                        [
                            "request": "t", "process": "h", "permission": "s", "device": "t", "program": "s",
                            "waits": "b",
                        ]), method("Withdraw", ["request": "t"]),
                ]), at: BusNames.guardClientObject)
        servers.append(server)
        return (connection, calls)
    }

    func ask(_ id: AskID) {
        let pidfd = UnixFD(owning: Pidfd.open(getpid()))
        registry.ask(user, id, pidfd, .camera, device: 20736, program: "/usr/bin/sudo", waits: true)
    }

    var registered: GuardEvent { .registered(user: user, pid: getpid()) }
}

extension Connection {
    /// Returns the body of the reply, or throws the error.
    @discardableResult
    fileprivate func get(_ member: String, _ body: [Value] = [], of name: String = BusNames.guardService) async throws
        -> [Value]
    {
        let isOfBus = name == Message.busName
        let message = Message.call(
            destination: name, path: isOfBus ? "/org/freedesktop/DBus" : BusNames.guardObject,
            interface: isOfBus ? name : BusNames.guardInterface, member: member, body)
        return try await withCheckedThrowingContinuation { continuation in
            call(message) { continuation.resume(with: $0.map(\.body)) }
        }
    }

    fileprivate func errorName(_ member: String, _ body: [Value] = []) async -> String? {
        do {
            try await get(member, body)
            return nil
        } catch { return (error as? BusError)?.name }
    }
}

struct PermdRegistryTests {
    @Test @LoopActor
    func aPermdRegistersAndIsAsked() async throws {
        let stage = try await Stage()
        let (permd, calls) = try stage.client()
        #expect(!stage.registry.isRegistered(getpid()))
        try await permd.get("Register")
        #expect(stage.events.all == [stage.registered] && stage.registry.isRegistered(getpid()))
        stage.ask(5)
        try await stage.events.first("the receipt") { $0 == .received(user: stage.user, 5) }
        stage.registry.withdraw(stage.user, 5)
        try await calls.first("the end") { $0 == [.uint64(5)] }
        let asked = calls.all[0]
        #expect(asked[1].unixFDValue.flatMap { Pidfd.pid(of: $0.raw) } == getpid())
        #expect(
            [asked[0]] + asked[2...] == [
                .uint64(5), .string("camera"), .uint64(20736), .string("/usr/bin/sudo"), .bool(true),
            ])
        try await permd.get("Answer", [.uint64(5), .string("granted")])
        try await permd.get("Recheck", [.string("camera")])
        try await permd.get("Recheck", [.string("")])
        #expect(
            stage.events.all.dropFirst(2) == [
                .answered(user: stage.user, 5, .granted), .recheck(user: stage.user, .camera),
                .recheck(user: stage.user, nil),
            ])
    }

    /// What the bus could not deliver is asked again; what permd does not understand is refused.
    @Test(arguments: [
        (BusError.Name.limitsExceeded, true), (BusError.Name.noReply, true), (BusError.Name.unknownMethod, false),
        (ErrorKind.invalidArguments.name, false), (BusError.Name.accessDenied, false),
    ]) @LoopActor
    func aQuestionThatIsNotTaken(error: String, isTransient: Bool) async throws {
        let stage = try await Stage()
        let (permd, _) = try stage.client(refusing: [error])
        try await permd.get("Register")
        stage.ask(5)
        let event = try await stage.events.first("what became of it") { $0 != stage.registered }
        #expect(event == (isTransient ? .notReceived(user: stage.user, 5) : .answered(user: stage.user, 5, .undecided)))
    }

    @Test(arguments: [nil, "/usr/bin/python3", "/usr/bin/permd-agent"]) @LoopActor
    func anotherProgramMayNotRegister(executable: String?) async throws {
        let stage = try await Stage(executable: executable)
        let (program, _) = try stage.client()
        #expect(await program.errorName("Register") == ErrorKind.accessDenied.name)
        #expect(await program.errorName("Answer", [.uint64(1), .string("granted")]) == ErrorKind.accessDenied.name)
        #expect(await program.errorName("Recheck", [.string("")]) == ErrorKind.accessDenied.name)
        #expect(stage.events.all == [])
    }

    /// Whoever calls often, or on many connections, keeps no permd from registering: its user would go unguarded meanwhile.
    @Test @LoopActor
    func aFloodOfRegistrations() async throws {
        let stage = try await Stage(executable: nil)
        let floods = try (1...100).map { _ in try stage.bus.connect() }
        let permd = try stage.bus.connect()
        let register = Message.call(
            destination: BusNames.guardService, path: BusNames.guardObject, interface: BusNames.guardInterface,
            member: "Register", [])
        for connection in floods { for _ in 1...50 { connection.call(register) { _ in } } }
        for _ in 1...20 { #expect(await permd.errorName("Register") == ErrorKind.accessDenied.name) }
    }

    @Test @LoopActor
    func aUserHasOnePermdUntilItLeaves() async throws {
        let stage = try await Stage()
        let (first, _) = try stage.client()
        let (second, calls) = try stage.client()
        try await first.get("Register")
        #expect(await second.errorName("Register") == ErrorKind.limitExceeded.name)
        // A connection that did not register answers nothing.
        #expect(await second.errorName("Answer", [.uint64(1), .string("granted")]) == ErrorKind.accessDenied.name)
        first.close()
        try await stage.events.first("the end of the first") { $0 == .departed(user: stage.user) }
        try await second.get("Register")
        stage.registry.withdraw(stage.user, 9)
        try await calls.first("the call") { $0 == [.uint64(9)] }
    }

    @Test(arguments: [
        ("Answer", [Value.uint32(1), .string("granted")]), ("Answer", []), ("Recheck", [.string("kamera")]),
        ("Recheck", [.uint64(1)]), ("Register", [.string("")]),
    ]) @LoopActor
    func wrongArgumentsAreErrors(member: String, body: [Value]) async throws {
        let stage = try await Stage()
        let (permd, _) = try stage.client()
        try await permd.get("Register")
        #expect(await permd.errorName(member, body) == ErrorKind.invalidArguments.name)
        #expect(stage.events.all == [stage.registered])
    }

    /// No other answer follows, so the thread goes on.
    @Test @LoopActor
    func anAnswerThatIsNotKnownIsARefusal() async throws {
        let stage = try await Stage()
        let (permd, _) = try stage.client()
        try await permd.get("Register")
        #expect(await permd.errorName("Answer", [.uint64(1), .string("allowed")]) == ErrorKind.invalidArguments.name)
        #expect(stage.events.all.dropFirst() == [.answered(user: stage.user, 1, .undecided)])
    }

    @Test @LoopActor
    func aLostBusIsTheEndOfAllPermds() async throws {
        let stage = try await Stage()
        let (permd, _) = try stage.client()
        try await permd.get("Register")
        await stage.bus.end()
        try await stage.events.first("the loss") { $0 == .departed(user: stage.user) }
    }

    /// Every call is answered, whatever it carries.
    @Test @LoopActor
    func randomCallsAreAnswered() async throws {
        let stage = try await Stage()
        let (permd, _) = try stage.client()
        try await permd.get("Register")
        let values: [Value] = [
            .uint64(.max), .string(""), .string("granted"), .string(String(repeating: "x", count: 70_000)), .bool(true),
            .array(of: "s", []), .properties(["a": .uint64(1)]), .variant(.variant(.string("x"))),
            .structure([.byte(1)]),
        ]
        for _ in 0..<400 {
            let member = ["Register", "Answer", "Recheck", "Ask", ""].randomElement()!
            let body = (0..<Int.random(in: 0...3)).map { _ in values.randomElement()! }
            guard !member.isEmpty else { continue }
            _ = await permd.errorName(member, body)
        }
        #expect(await permd.errorName("Recheck", [.string("")]) == nil)
    }
}
