// An app under test's control in a flatpak's sandbox, as flatpak starts it.

public import DBus
import Glibc
public import PermissionModel

/// A command that runs the program after it at a root of its own with a /.flatpak-info, as a flatpak runs.
///
/// It keeps its user. Everything it started ends with the last reference to it. Root makes it, by sudo where the tests run
/// as an ordinary user: not every system lets users make namespaces.
public final class FlatpakSandbox: Sendable {
    /// How the app gets to the session bus.
    public enum Access: String, Sendable, CaseIterable {
        /// To its socket, as with flatpak's `--socket=session-bus`.
        case direct
        /// Through an xdg-dbus-proxy in the same sandbox, which lets it talk to permd alone.
        case proxied
    }

    /// What permd has to take a program in it for.
    public let app: AppID
    /// Before the program and its arguments.
    public let command: [String]
    /// What its program needs in its environment, over the one of programs on that bus.
    public let environment: [String: String]
    private let folder: TemporaryFolder
    private let proxy: BusProxy?

    /// - Parameter info: the text of /.flatpak-info; by default that of the app `id`.
    @LoopActor
    public init(_ id: String, on bus: PrivateBus, access: Access = .direct, info: String? = nil) async throws {
        guard let app = AppID("flatpak:\(id)") else { throw TestKitError("\(id) is no flatpak's id") }
        self.app = app
        folder = try TemporaryFolder()
        let instance = UInt32.random(in: 1...UInt32.max)
        let info = try folder.write(
            info ?? "[Application]\nname=\(id)\n\n[Instance]\ninstance-id=\(instance)\n", to: "info")
        switch access {
        case .direct:
            proxy = nil
            environment = [:]
            command = FlatpakSandbox.wrapper(instance, info: info, hiding: [])
        case .proxied:
            let socket = folder.file("bus")
            proxy = try await BusProxy(bus, socket, through: FlatpakSandbox.wrapper(instance, info: info, hiding: []))
            environment = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(socket)"]
            command = FlatpakSandbox.wrapper(instance, info: info, hiding: [bus.directory])
        }
    }

    /// A command that runs the program after it as bubblewrap does for flatpak: at a root made of the entries of this one,
    /// with that file as its /.flatpak-info, and without what is in those folders.
    ///
    /// The one place that says how a sandbox is made.
    private static func wrapper(_ instance: UInt32, info: String, hiding hidden: [String]) -> [String] {
        var command = Superuser.command + ["bwrap", "--die-with-parent"]
        for entry in TemporaryFolder.entries(of: "/") {
            var status = stat()
            guard lstat("/\(entry)", &status) == 0 else { continue }
            switch status.st_mode & S_IFMT {
            case S_IFDIR: command += ["--dev-bind", "/\(entry)", "/\(entry)"]
            case S_IFLNK:
                var buffer = [UInt8](repeating: 0, count: 4096)
                let length = max(0, readlink("/\(entry)", &buffer, buffer.count))
                command += ["--symlink", String(decoding: buffer[..<length], as: UTF8.self), "/\(entry)"]
            default: break
            }
        }
        for folder in hidden { command += ["--tmpfs", folder] }
        command += ["--ro-bind", info, "/.flatpak-info", "--"]
        return command + Superuser.back + ["sh", "-ec", register, "sh", String(instance)]
    }

    /// Desktop portals since 1.20 look up which process flatpak started: the one that this shell becomes.
    private static let register = """
        if [ -d "${XDG_RUNTIME_DIR:-}" ]; then
            mkdir -p "$XDG_RUNTIME_DIR/.flatpak/$1"
            echo "{ \\"child-pid\\": $$ }" >"$XDG_RUNTIME_DIR/.flatpak/$1/bwrapinfo.json"
        fi
        shift
        exec "$@"
        """
}

/// An xdg-dbus-proxy that filters as for a flatpak which may talk to permd.
private final class BusProxy: Sendable {
    private let process: ChildProcess
    /// It ends when this is closed.
    private let end: UnixFD

    /// It can be connected to when this returns.
    @LoopActor
    init(_ bus: PrivateBus, _ socket: String, through wrapper: [String]) async throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw TestKitError.system("no pipe to a proxy", errno)
        }
        end = UnixFD(owning: ends[0])
        let theirs = UnixFD(owning: ends[1])
        // Its standard output, as that one stays open through every wrapper.
        let words =
            wrapper + [
                "xdg-dbus-proxy", "--fd=1", bus.address, socket, "--filter", "--talk=org.permd",
            ]
        process = try ChildProcess(
            words[0], Array(words.dropFirst()), environment: bus.environment, standardOutput: .descriptor(theirs.raw))
        close(theirs.take())
        // It writes a byte when it listens.
        let started = EventLog<Bool>()
        let watch = Loop.shared.watch(end.raw, .readable) { _ in if started.all.isEmpty { started.add(true) } }
        defer { watch.cancel() }
        try await started.wait(for: 1)
        var byte: UInt8 = 0
        guard read(end.raw, &byte, 1) == 1 else { throw TestKitError("xdg-dbus-proxy does not start") }
    }
}

extension TestApp {
    /// Runs it in such a sandbox.
    /// - Parameter info: the text of /.flatpak-info; by default that of the app `id`.
    public static func flatpak(
        _ id: String, on daemon: PermdProcess, access: FlatpakSandbox.Access = .direct, info: String? = nil
    ) async throws -> TestApp {
        let sandbox = try await FlatpakSandbox(id, on: daemon.bus, access: access, info: info)
        return try await TestApp("inside", on: daemon, through: sandbox)
    }
}
