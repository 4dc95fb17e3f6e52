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

    /// A bus on which the first owner has the name.
    private func onBus(_ test: (PrivateBus, _ client: Connection, _ owner: Connection) async throws -> Void)
        async throws
    {
        let bus = try await PrivateBus()
        let (client, owner) = (try bus.connect(), try bus.connect())
        #expect(try owner.requestName(BusNameOwnerTests.name))
        try await test(bus, client, owner)
        for connection in [client, owner] { connection.close() }
        await bus.end()
    }

    @Test func replacedWhileItIsIdentified() async throws {
        try await onBus { bus, client, first in
            let second = try bus.connect()
            let found = await find(on: client, trusted: second.uniqueName) { owner in
                guard owner == first.uniqueName else { return }
                first.close()
                while (try? second.requestName(BusNameOwnerTests.name)) == false {}
            }
            #expect(found == second.uniqueName)
            second.close()
        }
    }

    @Test func endedWhileItIsIdentified() async throws {
        try await onBus { _, client, owner in
            let found = await find(on: client, trusted: nil) { _ in owner.close() }
            #expect(found == BusError.Name.nameHasNoOwner)
        }
    }

    /// Its process is gone, but its connection is not yet.
    @Test func endingSlowly() async throws {
        try await onBus { bus, client, first in
            let second = try bus.connect()
            var looks = 0
            let found = await find(on: client, trusted: second.uniqueName) { owner in
                looks += owner == first.uniqueName ? 1 : 0
                guard looks == 3, owner == first.uniqueName else { return }
                first.close()
                while (try? second.requestName(BusNameOwnerTests.name)) == false {}
            }
            #expect(found == second.uniqueName && looks == 3)
            second.close()
        }
    }

    @Test func notTrusted() async throws {
        try await onBus { _, client, owner in
            #expect(await find(on: client, trusted: nil) == "\(owner.uniqueName): it has ended")
        }
    }
}
