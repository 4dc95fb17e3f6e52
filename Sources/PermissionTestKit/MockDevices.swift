// Mock devices for the processes under test, by the program `permd-mockdevices`.

public import DBus
import Glibc

/// Devices that come and go at a test's word. Processes started with ``environment`` see these devices and no others.
///
/// ```swift
/// let devices = try await MockDevices.start()
/// let node = try await devices.add(.camera, 0, name: "Front Camera")
/// // … start a program with devices.environment …
/// try await devices.remove(.camera, 0)
/// await devices.stop()
/// ```
@LoopActor
public final class MockDevices {
    public enum Kind: String, Sendable, CaseIterable {
        /// A camera; its node captures video.
        case camera
        /// What a UVC camera has beside its capture node: not a camera.
        case metadata
        case microphone
        /// A sound card's output: not a microphone.
        case playback
        case bluetooth
        /// A connection of the adapter of that number: not an adapter.
        case connection
        /// A satellite receiver.
        case gnss
    }

    public struct Failure: Error, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// The folder that stands for `/sys` and `/dev`.
    public nonisolated let root: String
    /// What a process needs in its environment to see the devices.
    public nonisolated let environment: [String: String]

    private let tool: MockDevicesTool

    private init(tool: MockDevicesTool, root: String) {
        self.tool = tool
        self.root = root
        environment = ["UMOCKDEV_DIR": root, "LD_PRELOAD": "libumockdev-preload.so.0"]
    }

    /// Starts without any device. `tool` is the path of `permd-mockdevices`; by default the one built beside the tests.
    public static func start(tool path: String? = nil) async throws(Failure) -> MockDevices {
        let tool = try MockDevicesTool(path: path ?? MockDevicesTool.besideThisProgram)
        let greeting = try await tool.line()
        guard greeting.hasPrefix("ROOT ") else { throw Failure(description: greeting) }
        return MockDevices(tool: tool, root: String(greeting.dropFirst(5)))
    }

    /// Plugs one in. `number` says where, so that what is added there again is the same device under another node.
    /// Returns its node, or an empty text for kinds that have none.
    @discardableResult
    public func add(_ kind: Kind, _ number: Int, name: String? = nil) async throws(Failure) -> String {
        try await tool.ask("add \(kind.rawValue) \(number)\(name.map { " \($0)" } ?? "")")
    }

    public func remove(_ kind: Kind, _ number: Int) async throws(Failure) {
        _ = try await tool.ask("remove \(kind.rawValue) \(number)")
    }

    /// Announces a change of it, though nothing is different.
    public func change(_ kind: Kind, _ number: Int) async throws(Failure) {
        _ = try await tool.ask("change \(kind.rawValue) \(number)")
    }

    /// Lets rfkill block an adapter's radio, or not.
    public func setBlocked(adapter number: Int, _ isBlocked: Bool) async throws(Failure) {
        _ = try await tool.ask("rfkill \(number) \(isBlocked ? "on" : "off")")
    }

    /// Forbids everybody to open a node, root too, or allows it again; announced as udev does.
    public func setOpenable(_ node: String, _ isOpenable: Bool) async throws(Failure) {
        _ = try await tool.ask("\(isOpenable ? "readable" : "unreadable") \(node)")
    }

    /// Removes the folder, and with it the devices. It happens by itself when the test program ends.
    public func stop() async { await tool.stop() }
}

/// The running program: lines in, lines out, in order.
@LoopActor
private final class MockDevicesTool {
    private let process: pid_t
    private let socket: Int32
    private var watch: WatchToken?
    private var received: [UInt8] = []
    private var lines: [String] = []
    private var waiting: [CheckedContinuation<String?, Never>] = []
    private var isOver = false
    private var onEnd: [CheckedContinuation<Void, Never>] = []

    static var besideThisProgram: String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let length = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
        let folder = buffer[..<length].lastIndex(of: UInt8(ascii: "/")).map { buffer[..<$0] } ?? []
        return String(decoding: folder, as: UTF8.self) + "/permd-mockdevices"
    }

    init(path: String) throws(MockDevices.Failure) {
        // One socket for both ways: closed on exec from the start, so no other child keeps the tool's input open.
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw MockDevices.Failure(description: "no descriptor is left for permd-mockdevices")
        }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(path), nil]
        defer { free(arguments[0]) }
        var process: pid_t = 0
        let failure = posix_spawn(&process, path, &actions, nil, &arguments, environ)
        close(ends[1])
        (self.process, socket) = (process, ends[0])
        guard failure == 0 else {
            close(socket)
            throw MockDevices.Failure(description: "\(path): \(String(cString: strerror(failure)))")
        }
        watch = Loop.shared.watch(socket, .readable) { [weak self] _ in self?.receive() }
    }

    func ask(_ command: String) async throws(MockDevices.Failure) -> String {
        guard !command.contains("\n") else { throw MockDevices.Failure(description: "a command is one line") }
        let bytes = Array((command + "\n").utf8)
        guard !isOver, send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
            throw MockDevices.Failure(description: "permd-mockdevices has ended")
        }
        let answer = try await line()
        guard answer.hasPrefix("OK") else { throw MockDevices.Failure(description: "\(command): \(answer)") }
        return String(answer.dropFirst(3))
    }

    func line() async throws(MockDevices.Failure) -> String {
        if !lines.isEmpty { return lines.removeFirst() }
        let line = isOver ? nil : await withCheckedContinuation { waiting.append($0) }
        guard let line else { throw MockDevices.Failure(description: "permd-mockdevices has ended") }
        return line
    }

    /// Ends the input, and waits for the end of the output, which comes when the folder is gone.
    func stop() async {
        guard !isOver else { return }
        shutdown(socket, Int32(SHUT_WR))
        await withCheckedContinuation { onEnd.append($0) }
    }

    private func receive() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(socket, &buffer, buffer.count)
        guard count > 0 else { return ended() }
        received += buffer[..<count]
        while let end = received.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: received[..<end], as: UTF8.self)
            received.removeSubrange(...end)
            if waiting.isEmpty { lines.append(line) } else { waiting.removeFirst().resume(returning: line) }
        }
    }

    private func ended() {
        watch?.cancel()
        close(socket)
        // It has closed its output by exiting.
        var status: Int32 = 0
        waitpid(process, &status, 0)
        isOver = true
        for continuation in waiting { continuation.resume(returning: nil) }
        for continuation in onEnd { continuation.resume() }
        (waiting, onEnd) = ([], [])
    }
}
