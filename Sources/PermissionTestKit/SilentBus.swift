// A bus that hangs: its socket is there, and nobody ever says anything on it.

import DBus
import Glibc

public final class SilentBus: Sendable {
    public enum Kind: String, Sendable, CaseIterable {
        /// Connections are made, as the kernel makes them for a process that is stopped.
        case silent
        /// As many connections wait as may: connect(2) blocks.
        case full
    }

    public let address: String
    private let folder: TemporaryFolder
    private let listener: UnixFD
    /// Fill the queue of a full one.
    private let clients: [UnixFD]

    public init(_ kind: Kind) throws(TestKitError) {
        folder = try TemporaryFolder()
        let path = folder.file("bus")
        address = "unix:path=\(path)"
        listener = try UnixSocket.bind(path, SOCK_STREAM)
        guard listen(listener.raw, kind == .full ? 0 : 16) == 0 else {
            throw TestKitError.system("cannot listen at \(path)", errno)
        }
        var clients: [UnixFD] = []
        while kind == .full, let client = try? UnixSocket.connect(path, waits: false) { clients.append(client) }
        self.clients = clients
    }

    /// Ends, and another bus takes its place at once; that one's may be taken again by a further one.
    public func give(to other: String) throws(TestKitError) {
        let link = folder.file("link")
        guard other.hasPrefix("unix:path="), symlink(String(other.dropFirst("unix:path=".count)), link) == 0,
            rename(link, folder.file("bus")) == 0
        else { throw TestKitError.system("cannot link to \(other)", errno) }
        guard listener.raw >= 0 else { return }
        shutdown(listener.raw, Int32(SHUT_RDWR))
        close(listener.take())
        for client in clients { close(client.take()) }
    }
}
