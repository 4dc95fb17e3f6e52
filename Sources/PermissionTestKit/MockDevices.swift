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
        let tool = try MockDevicesTool(path: path ?? BuiltProgram.path("permd-mockdevices"))
        let greeting = try await tool.line()
        guard greeting.hasPrefix("ROOT ") else { throw Failure(description: greeting) }
        return MockDevices(tool: tool, root: String(greeting.dropFirst(5)))
    }

    /// Plugs one in. `number` says where, so that what is added there again is the same device under another node.
    /// Returns its node, or an empty text for kinds that have none.
    /// - Parameter isAnnounced: whether an event tells of it; none does where no udev runs.
    @discardableResult
    public func add(
        _ kind: Kind, _ number: Int, name: String? = nil, isAnnounced: Bool = true
    ) async throws(Failure) -> String {
        try await tool.ask("\(isAnnounced ? "add" : "slip") \(kind.rawValue) \(number)\(name.map { " \($0)" } ?? "")")
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
    private let process: ChildProcess
    private let answers = EventLog<String?>()
    private var taken = 0

    init(path: String) throws(MockDevices.Failure) {
        do throws(TestKitError) {
            // Its environment is ours, preloaded libraries included.
            process = try ChildProcess(path, environment: ChildProcess.ownEnvironment, standardInput: .pipe)
        } catch {
            throw MockDevices.Failure(description: error.description)
        }
        Task { [answers, lines = process.lines] in
            for await line in lines { answers.add(line) }
            answers.add(nil)
        }
    }

    func ask(_ command: String) async throws(MockDevices.Failure) -> String {
        guard !command.contains("\n") else { throw MockDevices.Failure(description: "a command is one line") }
        guard process.write(command + "\n") else { throw MockDevicesTool.over }
        let answer = try await line()
        guard answer.hasPrefix("OK") else { throw MockDevices.Failure(description: "\(command): \(answer)") }
        return String(answer.dropFirst(3))
    }

    func line() async throws(MockDevices.Failure) -> String {
        taken += 1
        let index = taken - 1
        guard let lines = try? await answers.wait(for: taken), let line = lines[index] else {
            throw MockDevicesTool.over
        }
        return line
    }

    private static var over: MockDevices.Failure { MockDevices.Failure(description: "permd-mockdevices has ended") }

    /// Ends the input, and waits for the program's end, when the folder is gone.
    func stop() async {
        process.closeInput()
        _ = await process.waitForExit()
    }
}
