// Runs dbus-broker without systemd. Its launcher takes the listening socket through LISTEN_FDS and requires a journal
// socket.

package import DBus
package import Glibc

enum BrokerLauncher {
    private static let journalSocket = "/run/systemd/journal/socket"

    /// Mounts the socket `$1` at the path of the journal's socket.
    private static let prepare = """
        mount -t tmpfs none /run
        mkdir -p /run/systemd/journal
        touch \(journalSocket)
        mount --bind "$1" \(journalSocket)
        """

    static var hasJournal: Bool { access(journalSocket, F_OK) == 0 }

    static var problem: String? {
        guard isInstalled("dbus-broker-launch") else { return "dbus-broker is not installed" }
        return nil
    }

    static func start(
        socket: String, configuration: String, journal: String?, environment: [String: String]
    ) throws(TestKitError) -> ChildProcess {
        let listener = try UnixSocket.bind(socket, SOCK_STREAM)
        // Clients can connect from now on; they are served once the broker runs.
        guard listen(listener.raw, SOMAXCONN) == 0 else { throw .system("cannot listen on \(socket)", errno) }
        // The socket is passed as standard input, because sudo closes all other descriptors.
        let launch = """
            exec 3<&0 </dev/null
            export LISTEN_FDS=1 LISTEN_PID=$$
            exec dbus-broker-launch --scope user --config-file "$1"
            """
        let words =
            (journal.map { Superuser.mountNamespace(prepare, [$0]) } ?? []) + ["sh", "-c", launch, "sh", configuration]
        return try ChildProcess(
            words[0], Array(words.dropFirst()), environment: environment, standardInput: .descriptor(listener.raw),
            standardError: .null)
    }

    /// Waits until the broker answers. A client that connected earlier would block its thread, possibly the loop's.
    @LoopActor
    static func waitUntilServed(_ socket: String) async throws(TestKitError) {
        let probe = try UnixSocket.connect(socket)
        let greeting = "\0AUTH EXTERNAL\r\n"
        guard send(probe.raw, greeting, greeting.utf8.count, Int32(MSG_NOSIGNAL)) > 0 else {
            throw .system("no process listens on \(socket)", errno)
        }
        let answers = EventLog<Bool>()
        let token = Loop.shared.watch(probe, .readable) { _ in if answers.all.isEmpty { answers.add(true) } }
        defer { token.cancel() }
        try await answers.wait(for: 1)
    }

    private static func isInstalled(_ program: String) -> Bool {
        let path = getenv("PATH").map { String(cString: $0) } ?? "/usr/bin:/bin"
        return path.split(separator: ":").contains { access("\($0)/\(program)", X_OK) == 0 }
    }
}

/// Replaces the journal: receives log messages and discards them.
final class JournalSink: Sendable {
    let path: String
    private let reader: Reader

    init(_ path: String) throws(TestKitError) {
        self.path = path
        let reader = Reader(try UnixSocket.bind(path, SOCK_DGRAM))
        self.reader = reader
        Loop.shared.post { reader.start() }
    }

    deinit { Loop.shared.post { [reader] in reader.stop() } }

    @LoopActor
    private final class Reader {
        private let socket: UnixFD
        private var token: WatchToken?

        nonisolated init(_ socket: UnixFD) { self.socket = socket }

        func start() {
            token = Loop.shared.watch(socket, .readable) { [socket] _ in
                var byte: UInt8 = 0
                while recv(socket.raw, &byte, 1, Int32(MSG_DONTWAIT)) >= 0 {}
            }
        }

        func stop() { token?.cancel() }
    }
}

package enum UnixSocket {
    package static func bind(_ path: String, _ type: __socket_type) throws(TestKitError) -> UnixFD {
        try open(path, type, "bind", Glibc.bind)
    }

    /// If `waits` is false, a listener with a full queue is an error.
    package static func connect(_ path: String, waits: Bool = true) throws(TestKitError) -> UnixFD {
        try open(path, SOCK_STREAM, waits: waits, "connect to", Glibc.connect)
    }

    private static func open(
        _ path: String, _ type: __socket_type, waits: Bool = true, _ verb: String,
        _ call: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) throws(TestKitError) -> UnixFD {
        let options = SOCK_CLOEXEC.rawValue | (waits ? 0 : SOCK_NONBLOCK.rawValue)
        let socket = UnixFD(owning: Glibc.socket(AF_UNIX, Int32(type.rawValue | options), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        guard path.utf8.count < capacity else { throw TestKitError("\(path) is too long for a socket") }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                call(socket.raw, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw .system("cannot \(verb) \(path)", errno) }
        return socket
    }
}
