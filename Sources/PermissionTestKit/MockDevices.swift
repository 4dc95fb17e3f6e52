// Mock devices for the processes under test, provided by the program `permd-mockdevices`.

public import DBus
import Glibc

/// Devices that tests add and remove. Processes started with ``environment`` see these devices and no others.
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
        /// The metadata node of a UVC camera: not a camera.
        case metadata
        case microphone
        /// The output of a sound card: not a microphone.
        case playback
        case bluetooth
        /// A Bluetooth connection of the adapter with that number: not an adapter.
        case connection
        case gnss
    }

    /// The folder that replaces `/sys` and `/dev`.
    public nonisolated let root: String
    /// The environment variables with which a process sees the devices.
    public nonisolated let environment: [String: String]

    private let tool: MockDevicesTool

    private init(tool: MockDevicesTool, root: String) {
        self.tool = tool
        self.root = root
        environment = ["UMOCKDEV_DIR": root, "LD_PRELOAD": "libumockdev-preload.so.0"]
    }

    /// Starts without any devices. `tool` is the path of `permd-mockdevices`; by default, the one built with the tests.
    public static func start(tool path: String? = nil) async throws(TestKitError) -> MockDevices {
        let tool = try MockDevicesTool(path: path ?? BuiltProgram.path("permd-mockdevices"))
        let greeting = try await tool.line()
        guard greeting.hasPrefix("ROOT ") else { throw TestKitError(greeting) }
        return MockDevices(tool: tool, root: String(greeting.dropFirst(5)))
    }

    /// Adds a device. `number` identifies the port, so adding a device with the same number again means the same device
    /// with another node. Returns its node, or an empty string for kinds without one.
    /// - Parameter isAnnounced: Whether an event announces it; there is none where udev does not run.
    @discardableResult
    public func add(
        _ kind: Kind, _ number: Int, name: String? = nil, isAnnounced: Bool = true
    ) async throws(TestKitError) -> String {
        try await tool.ask("\(isAnnounced ? "add" : "slip") \(kind.rawValue) \(number)\(name.map { " \($0)" } ?? "")")
    }

    /// Adds a device whose node leads to a pseudo-terminal, so that other processes can really open it, at the path of
    /// that. Returns the node.
    public func add(
        _ kind: Kind, _ number: Int, backedBy terminal: PseudoTerminal
    ) async throws(TestKitError) -> String {
        try await tool.ask("link \(kind.rawValue) \(number) \(terminal.major):\(terminal.minor) \(terminal.path)")
    }

    public func remove(_ kind: Kind, _ number: Int) async throws(TestKitError) {
        _ = try await tool.ask("remove \(kind.rawValue) \(number)")
    }

    /// Announces a change event without changing anything.
    public func change(_ kind: Kind, _ number: Int) async throws(TestKitError) {
        _ = try await tool.ask("change \(kind.rawValue) \(number)")
    }

    /// Makes rfkill block or unblock an adapter's radio.
    public func setBlocked(adapter number: Int, _ isBlocked: Bool) async throws(TestKitError) {
        _ = try await tool.ask("rfkill \(number) \(isBlocked ? "on" : "off")")
    }

    /// Denies or allows opening a node, for root as well, and announces it as udev does.
    public func setOpenable(_ node: String, _ isOpenable: Bool) async throws(TestKitError) {
        _ = try await tool.ask("\(isOpenable ? "readable" : "unreadable") \(node)")
    }

    /// Removes the folder and the devices. Happens automatically when the test program ends.
    public func stop() async { await tool.stop() }
}

/// The running program: takes commands and answers them line by line, in order.
@LoopActor
private final class MockDevicesTool {
    private let process: ChildProcess
    private let answers = EventLog<String?>()
    private var taken = 0

    init(path: String) throws(TestKitError) {
        // Inherits the whole environment, including preloaded libraries.
        process = try ChildProcess(path, environment: ChildProcess.ownEnvironment, standardInput: .pipe)
        Task { [answers, lines = process.lines] in
            for await line in lines { answers.add(line) }
            answers.add(nil)
        }
    }

    func ask(_ command: String) async throws(TestKitError) -> String {
        guard !command.contains("\n") else { throw TestKitError("a command must be a single line") }
        guard process.write(command + "\n") else { throw MockDevicesTool.over }
        let answer = try await line()
        guard answer.hasPrefix("OK") else { throw TestKitError("\(command): \(answer)") }
        return String(answer.dropFirst(3))
    }

    func line() async throws(TestKitError) -> String {
        taken += 1
        let index = taken - 1
        guard let lines = try? await answers.wait(for: taken), let line = lines[index] else {
            throw MockDevicesTool.over
        }
        return line
    }

    private static var over: TestKitError { TestKitError("permd-mockdevices has exited") }

    /// Closes the input and waits until the program has removed the folder and exited.
    func stop() async {
        process.closeInput()
        _ = await process.waitForExit()
    }
}
