// A session bus that closes new connections: permd serves as soon as the bus lets it.

import DBus
import Dispatch
import Glibc
import PermissionTestKit
import TestSupport
import Testing

/// Closes every connection at the same moment, until it is replaced by another bus.
final class ClosingBus: Sendable {
    enum Moment: String, Sendable, CaseIterable {
        case afterHello, afterTheName
    }

    let address: String
    private let folder: TemporaryFolder

    /// - Parameter other: The bus that replaces it after this number of connections.
    init(_ moment: Moment, times: Int, then other: String) throws {
        folder = try TemporaryFolder()
        let path = folder.file("bus")
        address = "unix:path=\(path)"
        let listener = try UnixSocket.bind(path, SOCK_STREAM)
        guard listen(listener.raw, 64) == 0 else { throw TestKitError("cannot listen at \(path)") }
        let link = folder.file("link")
        try #require(symlink(String(other.dropFirst("unix:path=".count)), link) == 0)
        DispatchQueue(label: "closing bus").async {
            for number in 1...times {
                let client = accept(listener.raw, nil, nil)
                guard client >= 0 else { return }
                if number == times { rename(link, path) }
                ClosingBus.serve(client, moment)
            }
        }
    }

    /// The connection ends with the client's last reference.
    private static func serve(_ descriptor: Int32, _ moment: Moment) {
        guard let client = try? RawBusClient(accepted: descriptor), let hello = try? client.receive() else { return }
        var reply = RawMessage(.methodReturn, to: ":1.1")
        reply.replySerial = hello.serial
        reply.furtherFields = [(7, "org.freedesktop.DBus")]
        (reply.signature, reply.body) = ("s", RawMessage.string(":1.1"))
        _ = try? client.send(reply)
        if moment == .afterTheName { _ = try? client.receive() }
    }
}

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ClosingBusTests {
    @Test(arguments: ClosingBus.Moment.allCases)
    func permdServesWhenTheBusIsBack(_ moment: ClosingBus.Moment) async throws {
        let bus = try await PrivateBus()
        let closing = try ClosingBus(moment, times: 3, then: bus.address)
        let stage = try await Stage(bus: bus, environment: ["DBUS_SESSION_BUS_ADDRESS": closing.address])
        let app = try await stage.app()
        #expect(try await app.ask("status camera") == "ok camera=undetermined")
        #expect(await stage.permd.stop() == .exited(0))
        await stage.end()
    }
}
