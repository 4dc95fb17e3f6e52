// What permd-guard does on the system bus: who may register, what a registered permd may do, and who hears what.

import DBus
import Glibc
import GuardRules
import Logging
import PermissionModel
import PermissionTestKit
import ProcessIdentity
import System
import TestSupport
import Testing

@testable import permd_guard

@LoopActor
private final class Stage {
    let bus: PrivateBus
    let events = EventLog<GuardEvent>()
    let registry: PermdRegistry
    let user = getuid()

    /// - Parameter executable: That of every process.
    init(executable: String? = "/usr/libexec/permd") async throws {
        bus = try await PrivateBus()
        let events = events
        registry = PermdRegistry(
            ProcessIdentifier(worker: Worker()), on: .address(bus.address), log: Logger(label: "test"),
            executable: { _ in executable.map { Array($0.utf8) } }, feed: { events.add($0) })
        let observer = try bus.connect()
        let owners = EventLog<String?>()
        observer.onOwnerChange(of: BusNames.guardService) { owners.add($0) }
        // The bus has the match rule when it has answered.
        try await observer.get("GetId", of: Message.busName)
        registry.start {}
        try await owners.first("the owner of the name") { $0 != nil }
    }

    /// A connection with the signals that it got.
    func client() throws -> (connection: Connection, signals: EventLog<Message>) {
        let connection = try bus.connect()
        let signals = EventLog<Message>()
        connection.onSignal(interface: BusNames.guardInterface, addMatch: false, takesDescriptors: true) {
            signals.add($0)
        }
        return (connection, signals)
    }
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
        let (permd, signals) = try stage.client()
        try await permd.get("Register")
        #expect(stage.events.all == [.registered(user: stage.user)])
        let pidfd = UnixFD(owning: Pidfd.open(getpid()))
        stage.registry.ask(stage.user, 5, pidfd, .camera, device: 20736, program: "/usr/bin/sudo", waits: true)
        stage.registry.withdraw(stage.user, 5)
        let asked = try await signals.first("the question") { $0.member == "Asked" }
        #expect(asked.body[1].unixFDValue.flatMap { Pidfd.pid(of: $0.raw) } == getpid())
        #expect(
            [asked.body[0]] + asked.body[2...] == [
                .uint64(5), .string("camera"), .uint64(20736), .string("/usr/bin/sudo"), .bool(true),
            ])
        #expect(try await signals.first("the end") { $0.member == "Withdrawn" }.body == [.uint64(5)])
        try await permd.get("Received", [.uint64(5)])
        try await permd.get("Answer", [.uint64(5), .string("granted")])
        try await permd.get("Recheck", [.string("camera")])
        try await permd.get("Recheck", [.string("")])
        #expect(
            stage.events.all.dropFirst() == [
                .received(user: stage.user, 5), .answered(user: stage.user, 5, .granted),
                .recheck(user: stage.user, .camera), .recheck(user: stage.user, nil),
            ])
    }

    @Test(arguments: [nil, "/usr/bin/python3", "/usr/bin/permd-agent"]) @LoopActor
    func anotherProgramMayNotRegister(executable: String?) async throws {
        let stage = try await Stage(executable: executable)
        let (program, _) = try stage.client()
        #expect(await program.errorName("Register") == ErrorKind.accessDenied.name)
        #expect(await program.errorName("Received", [.uint64(1)]) == ErrorKind.accessDenied.name)
        #expect(await program.errorName("Answer", [.uint64(1), .string("granted")]) == ErrorKind.accessDenied.name)
        #expect(await program.errorName("Recheck", [.string("")]) == ErrorKind.accessDenied.name)
        #expect(stage.events.all == [])
    }

    @Test @LoopActor
    func aUserHasOnePermdUntilItLeaves() async throws {
        let stage = try await Stage()
        let (first, _) = try stage.client()
        let (second, signals) = try stage.client()
        try await first.get("Register")
        #expect(await second.errorName("Register") == ErrorKind.limitExceeded.name)
        // A connection that did not register answers nothing.
        #expect(await second.errorName("Answer", [.uint64(1), .string("granted")]) == ErrorKind.accessDenied.name)
        first.close()
        try await stage.events.first("the end of the first") { $0 == .departed(user: stage.user) }
        try await second.get("Register")
        stage.registry.withdraw(stage.user, 9)
        try await signals.first("the signal") { $0.body == [.uint64(9)] }
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
        #expect(stage.events.all == [.registered(user: stage.user)])
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
            let member = ["Register", "Received", "Answer", "Recheck", "Asked", ""].randomElement()!
            let body = (0..<Int.random(in: 0...3)).map { _ in values.randomElement()! }
            guard !member.isEmpty else { continue }
            _ = await permd.errorName(member, body)
        }
        #expect(await permd.errorName("Recheck", [.string("")]) == nil)
    }
}
