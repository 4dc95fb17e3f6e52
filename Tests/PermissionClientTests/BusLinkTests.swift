// The connection to a bus that hangs.

import DBus
import PermissionTestKit
import TestSupport
import Testing

@testable import PermissionClient

@Suite(.timeLimit(.minutes(1)))
@LoopActor
struct BusLinkTests {
    /// The loop goes on while the connection is opened: it can be closed, and that is what those who wait are told.
    @Test func theLoopDoesNotWaitForABusThatHangs() async throws {
        let silent = try SilentBus(.silent)
        let link = BusLink(.address(silent.address))
        let opening = (0..<2).map { _ in Task { await failure(of: link) } }
        try await silent.waitForClient()
        link.close()
        for task in opening { #expect(await task.value == "this connection to the bus was closed") }
    }

    private func failure(of link: BusLink) async -> String? {
        do throws(ClientError) {
            _ = try await link.open()
            return nil
        } catch {
            return error.message
        }
    }

    /// Those who ask for a connection while it is opened get the same one.
    @Test func oneConnectionIsOpenedForAll() async throws {
        let bus = try await PrivateBus()
        let link = BusLink(.address(bus.address))
        let opening = (0..<2).map { _ in Task { try await link.open().uniqueName } }
        let names = (try await opening[0].value, try await opening[1].value)
        #expect(names.0 == names.1 && link.opened?.uniqueName == names.0)
        link.close()
        await bus.end()
    }
}
