// A bus that hangs: its socket exists, but nothing answers.

import DBus
import Glibc
package import PermissionTestKit

package final class SilentBus: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        /// Connections are accepted by the kernel, as for a process that is stopped.
        case silent
        /// The queue of connections is full, so connect(2) blocks.
        case full
    }

    package let address: String
    private let folder: TemporaryFolder
    private let listener: UnixFD
    /// The connections that fill the queue if the kind is `full`.
    private let clients: [UnixFD]

    package init(_ kind: Kind) throws(TestKitError) {
        folder = try TemporaryFolder()
        let path = folder.file("bus")
        address = "unix:path=\(path)"
        listener = try UnixSocket.bind(path, SOCK_STREAM)
        guard listen(listener.raw, kind == .full ? 0 : 16) == 0 else {
            throw TestKitError("cannot listen at \(path)")
        }
        var clients: [UnixFD] = []
        while kind == .full, let client = try? UnixSocket.connect(path, waits: false) { clients.append(client) }
        self.clients = clients
    }

    /// Waits until a client has connected, which now waits for an answer.
    @LoopActor
    package func waitForClient() async throws(TestKitError) {
        let clients = EventLog<Void>()
        let watch = Loop.shared.watch(unowned: listener.raw, .readable) { _ in clients.add(()) }
        defer { watch.cancel() }
        try await clients.wait(for: 1)
    }

    /// Closes this bus and replaces it with another one at the same path. May be called again to replace that one.
    package func give(to other: String) throws(TestKitError) {
        let link = folder.file("link")
        guard other.hasPrefix("unix:path="), symlink(String(other.dropFirst("unix:path=".count)), link) == 0,
            rename(link, folder.file("bus")) == 0
        else { throw TestKitError("cannot link to \(other)") }
        guard listener.raw >= 0 else { return }
        shutdown(listener.raw, Int32(SHUT_RDWR))
        close(listener.take())
        for client in clients { close(client.take()) }
    }
}
