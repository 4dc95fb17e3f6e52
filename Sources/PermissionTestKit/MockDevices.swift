// Mock devices for the processes under test, provided by the program `permd-mockdevices`.

public import DBus
import Glibc

/// Devices that tests add and remove. A ``PermdProcess`` and other programs with ``environment`` see these devices and no
/// others. They exist as files only: what opens one gets no picture and no sound.
///
/// ```swift
/// let devices = try await MockDevices()
/// try await devices.add(.camera, name: "Front Camera")
/// let permd = try await PermdProcess(devices: devices)
/// try await devices.remove(.camera)
/// ```
@LoopActor
public final class MockDevices {
    /// What a device is.
    public enum Kind: String, Sendable, CaseIterable {
        /// A camera; its node captures video.
        case camera
        /// The metadata node of a UVC camera: not a camera.
        case metadata
        /// The input of a sound card.
        case microphone
        /// The output of a sound card: not a microphone.
        case playback
        /// A Bluetooth adapter.
        case bluetooth
        /// A Bluetooth connection of the adapter with that number: not an adapter.
        case connection
        /// A satellite receiver, which makes the location available.
        case gnss
    }

    /// The folder that replaces `/sys` and `/dev`.
    package nonisolated let root: String
    /// The environment variables with which a process sees the devices.
    public nonisolated let environment: [String: String]

    private let tool: MockDevicesTool

    /// Starts without any devices.
    ///
    /// - Parameter program: The path of `permd-mockdevices`; if nil, the one that was installed or built together with
    ///   this module.
    /// - Throws: ``TestKitError`` if the program, or umockdev, which it needs, is not there.
    public init(program: String? = nil) async throws(TestKitError) {
        tool = try MockDevicesTool(path: program ?? BuiltProgram.path("permd-mockdevices"))
        let greeting = try await tool.line()
        guard greeting.hasPrefix("ROOT ") else { throw TestKitError(greeting) }
        root = String(greeting.dropFirst("ROOT ".count))
        environment = ["UMOCKDEV_DIR": root, "LD_PRELOAD": "libumockdev-preload.so.0"]
    }

    /// Adds a device.
    ///
    /// - Parameters:
    ///   - kind: What it is.
    ///   - number: The port, from 0 to 31. A device that is added at the same port again is the same device with another
    ///     node.
    ///   - name: The name that permd shows.
    ///   - isAnnounced: Whether an event announces it; there is none where udev does not run.
    /// - Returns: Its node below `/dev`, or an empty string for kinds without one.
    /// - Throws: ``TestKitError`` if the port has such a device.
    @discardableResult
    public func add(
        _ kind: Kind, _ number: Int = 0, name: String? = nil, isAnnounced: Bool = true
    ) async throws(TestKitError) -> String {
        try await tool.ask("\(isAnnounced ? "add" : "slip") \(kind.rawValue) \(number)\(name.map { " \($0)" } ?? "")")
    }

    /// Adds a device whose node is a link to a real character device, `MAJOR:MINOR` at a path. Returns the node.
    package func add(
        _ kind: Kind, _ number: Int, linkedTo device: String, at path: String
    ) async throws(TestKitError) -> String {
        try await tool.ask("link \(kind.rawValue) \(number) \(device) \(path)")
    }

    /// Removes the device at a port.
    ///
    /// - Throws: ``TestKitError`` if there is none.
    public func remove(_ kind: Kind, _ number: Int = 0) async throws(TestKitError) {
        _ = try await tool.ask("remove \(kind.rawValue) \(number)")
    }

    /// Announces a change event without changing anything.
    package func change(_ kind: Kind, _ number: Int) async throws(TestKitError) {
        _ = try await tool.ask("change \(kind.rawValue) \(number)")
    }

    /// Makes rfkill block or unblock the radio of a Bluetooth adapter. A blocked adapter is not available.
    public func setBlocked(adapter number: Int, _ isBlocked: Bool) async throws(TestKitError) {
        _ = try await tool.ask("rfkill \(number) \(isBlocked ? "on" : "off")")
    }

    /// Denies or allows opening a node that ``add(_:_:name:isAnnounced:)`` returned, for root as well, and announces it as
    /// udev does.
    public func setOpenable(_ node: String, _ isOpenable: Bool) async throws(TestKitError) {
        _ = try await tool.ask("\(isOpenable ? "readable" : "unreadable") \(node)")
    }

    /// Removes all devices. This also happens with the last reference, and when the test program ends.
    public func end() async { await tool.end() }
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
    func end() async { await MockDevicesTool.end(process) }

    deinit { Task { [process] in await MockDevicesTool.end(process) } }

    private static func end(_ process: ChildProcess) async {
        process.closeInput()
        _ = await process.waitForExit()
    }
}
