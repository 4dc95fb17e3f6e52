// A test-controlled app in a sandbox like flatpak's.

package import DBus
import Glibc
package import PermissionModel
package import PermissionTestKit
import System

/// A sandbox in which a program has its own root directory with a /.flatpak-info, like a flatpak.
///
/// Programs in it keep their user. Everything it started ends with the last reference to it. The sandbox is created by
/// root, through sudo if the tests run as an ordinary user, because not every system lets users create namespaces.
package final class FlatpakSandbox: Sendable {
    /// How the app connects to the session bus.
    package enum Access: String, Sendable, CaseIterable {
        /// Directly to its socket, as with flatpak's `--socket=session-bus`.
        case direct
        /// Through an xdg-dbus-proxy in the same sandbox that only allows calls to permd.
        case proxied
    }

    /// Namespaces that the sandbox has for itself.
    package struct Isolation: OptionSet, Sendable {
        package let rawValue: Int
        /// As without flatpak's `--share=network`.
        package static let network = Isolation(rawValue: 1)
        /// As always with flatpak. What its programs say of their process IDs is not true outside.
        package static let processes = Isolation(rawValue: 2)

        package init(rawValue: Int) { self.rawValue = rawValue }
    }

    /// The app that permd must identify programs in it as.
    package let app: AppID
    /// The command to put before a program and its arguments.
    package let command: [String]
    /// The environment variables that a program in it needs, in addition to those of the bus.
    package let environment: [String: String]
    package let isolation: Isolation
    private let folder: TemporaryFolder
    private let proxy: BusProxy?

    /// - Parameters:
    ///   - info: The content of /.flatpak-info; by default, that of the app `id`.
    @LoopActor
    package init(
        _ id: String, on bus: PrivateBus, access: Access = .direct, info: String? = nil, isolation: Isolation = []
    ) async throws {
        guard let app = AppID("flatpak:\(id)") else { throw TestKitError("\(id) is not a flatpak application ID") }
        self.app = app
        self.isolation = isolation
        folder = try TemporaryFolder()
        let instance = UInt32.random(in: 1...UInt32.max)
        let info = try folder.write(
            info ?? "[Application]\nname=\(id)\n\n[Instance]\ninstance-id=\(instance)\n", to: "info")
        switch access {
        case .direct:
            proxy = nil
            environment = [:]
            command = FlatpakSandbox.wrapper(instance, info: info, hiding: [], isolation)
        case .proxied:
            let socket = folder.file("bus")
            proxy = try await BusProxy(bus, socket, through: FlatpakSandbox.wrapper(instance, info: info, hiding: []))
            environment = ["DBUS_SESSION_BUS_ADDRESS": "unix:path=\(socket)"]
            command = FlatpakSandbox.wrapper(instance, info: info, hiding: [bus.directory], isolation)
        }
    }

    /// Changes the content of its /.flatpak-info.
    package func setInfo(_ info: String) throws { try folder.write(info, to: "info") }

    /// Returns a command that runs a program the way flatpak does with bubblewrap: at a root made of the entries of the
    /// current one, with `info` as its /.flatpak-info and with the folders `hidden` empty.
    private static func wrapper(
        _ instance: UInt32, info: String, hiding hidden: [String], _ isolation: Isolation = []
    ) -> [String] {
        var command = Superuser.command + ["bwrap", "--die-with-parent"]
        for entry in Folders.names(in: "/") {
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
        if isolation.contains(.network) { command.append("--unshare-net") }
        if isolation.contains(.processes) { command += ["--unshare-pid", "--proc", "/proc"] }
        command += ["--ro-bind", info, "/.flatpak-info", "--"]
        return command + Superuser.back + ["sh", "-ec", register, "sh", String(instance)]
    }

    /// Registers the first process in the sandbox as flatpak does: the proxy, if there is one.
    private static let register = """
        if [ -d "${XDG_RUNTIME_DIR:-}" ]; then
            mkdir -p "$XDG_RUNTIME_DIR/.flatpak/$1"
            file=$XDG_RUNTIME_DIR/.flatpak/$1/bwrapinfo.json
            [ -e "$file" ] || echo "{ \\"child-pid\\": $$ }" >"$file"
        fi
        shift
        exec "$@"
        """
}

/// An xdg-dbus-proxy with the filter of a flatpak that may talk to permd.
private final class BusProxy: Sendable {
    private let process: ChildProcess
    /// The proxy exits when this is closed.
    private let end: UnixFD

    /// Starts the proxy, which accepts connections when this returns.
    @LoopActor
    init(_ bus: PrivateBus, _ socket: String, through wrapper: [String]) async throws {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw TestKitError.system("cannot create a pipe to the proxy", errno)
        }
        end = UnixFD(owning: ends[0])
        let theirs = UnixFD(owning: ends[1])
        // Passed as standard output, because that stays open through every wrapper.
        let words =
            wrapper + [
                "xdg-dbus-proxy", "--fd=1", bus.address, socket, "--filter", "--talk=org.permd",
            ]
        process = try ChildProcess(
            words[0], Array(words.dropFirst()), environment: bus.environment, standardOutput: .descriptor(theirs.raw))
        close(theirs.take())
        // The proxy writes a byte when it listens.
        let started = EventLog<Bool>()
        let watch = Loop.shared.watch(end, .readable) { _ in if started.all.isEmpty { started.add(true) } }
        defer { watch.cancel() }
        try await started.wait(for: 1)
        var byte: UInt8 = 0
        guard read(end.raw, &byte, 1) == 1 else { throw TestKitError("xdg-dbus-proxy did not start") }
    }
}

extension TestApp {
    /// Starts the test app in such a sandbox.
    /// - Parameter info: The content of /.flatpak-info; by default, that of the app `id`.
    package static func flatpak(
        _ id: String, on daemon: PermdProcess, access: FlatpakSandbox.Access = .direct, info: String? = nil
    ) async throws -> TestApp {
        let sandbox = try await FlatpakSandbox(id, on: daemon.bus, access: access, info: info)
        return try await TestApp("inside", on: daemon, through: sandbox)
    }
}
