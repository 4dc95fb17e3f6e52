// Shared by the tests of this module: both kinds of bus, and an echo service.

import DBus
import PermissionTestKit

let buses = PrivateBus.Kind.allCases

/// A bus with a service and a client connected to it.
@LoopActor
struct Fixture {
    static let path = "/org/example/Echo"
    static let interface = "org.example.Echo1"

    let bus: PrivateBus
    let service: Connection
    let client: Connection

    init(_ kind: PrivateBus.Kind = .daemon) async throws {
        bus = try await PrivateBus(kind)
        service = try bus.connect()
        client = try bus.connect()
    }

    /// Answers every call with its own arguments.
    func echo() {
        service.methodHandler = { [service] message in service.reply(to: message, message.body) }
    }

    func message(_ member: String = "Echo", _ body: [Value] = [], interface: String = Fixture.interface) -> Message {
        .call(
            destination: service.uniqueName, path: Fixture.path, interface: interface, member: member, body)
    }

    func call(_ member: String = "Echo", _ body: [Value] = []) async throws(BusError) -> [Value] {
        try await client.call(message(member, body), timeoutMilliseconds: Fixture.patience).body
    }

    /// Long enough for messages of several megabytes while all tests share two processors.
    private static let patience: Int32 = 120_000

    /// Returns after everything that the service has sent so far has reached the client.
    func settle() async throws {
        service.methodHandler = { [service] message in service.reply(to: message, []) }
        _ = try await call("Settle")
    }

    func end() async {
        client.close()
        service.close()
        await bus.end()
    }
}

/// The error that `body` throws; nil if it succeeds.
@LoopActor
func failure(_ body: () async throws(BusError) -> Void) async -> BusError? {
    do throws(BusError) {
        try await body()
        return nil
    } catch {
        return error
    }
}
