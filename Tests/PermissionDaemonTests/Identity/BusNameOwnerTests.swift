// The trusted owner of a name, which may end while it is being identified.

import DBus
import PermissionTestKit
import ProcessIdentity
import Testing

@Suite(.timeLimit(.minutes(1)))
@LoopActor
struct BusNameOwnerTests {
    private static let name = "org.example.Service"

    /// The unique name of the owner that is found, or why there is none. The judge objects to all but one.
    private func find(
        on connection: Connection, trusted: String?, starts: Bool = false,
        meanwhile: @escaping @LoopActor (String) -> Void = { _ in }
    ) async -> String {
        let owner = BusNameOwner(BusNameOwnerTests.name, on: connection) { owner, completion in
            meanwhile(owner)
            completion(owner == trusted ? nil : "it has ended")
        }
        let found = await withCheckedContinuation { continuation in
            owner.find(starts: starts) { continuation.resume(returning: $0) }
        }
        switch found {
        case .success(let name): return name
        case .failure(.absent(let error)): return error.name
        case .failure(.untrusted(let owner, let reason)): return "\(owner): \(reason)"
        }
    }

    @Test func replacedWhileItIsIdentified() async throws {
        let bus = try await PrivateBus()
        let client = try bus.connect()
        let first = try bus.connect()
        let second = try bus.connect()
        #expect(try first.requestName(BusNameOwnerTests.name))
        let found = await find(on: client, trusted: second.uniqueName) { owner in
            guard owner == first.uniqueName else { return }
            first.close()
            while (try? second.requestName(BusNameOwnerTests.name)) == false {}
        }
        #expect(found == second.uniqueName)
        for connection in [client, second] { connection.close() }
        await bus.end()
    }

    @Test func endedWhileItIsIdentified() async throws {
        let bus = try await PrivateBus()
        let client = try bus.connect()
        let first = try bus.connect()
        #expect(try first.requestName(BusNameOwnerTests.name))
        let found = await find(on: client, trusted: nil) { _ in first.close() }
        #expect(found == BusError.Name.nameHasNoOwner)
        client.close()
        await bus.end()
    }

    @Test func notTrusted() async throws {
        let bus = try await PrivateBus()
        let client = try bus.connect()
        let owner = try bus.connect()
        #expect(try owner.requestName(BusNameOwnerTests.name))
        #expect(await find(on: client, trusted: nil) == "\(owner.uniqueName): it has ended")
        for connection in [client, owner] { connection.close() }
        await bus.end()
    }
}
