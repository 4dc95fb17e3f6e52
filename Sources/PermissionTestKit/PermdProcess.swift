// permd on a private bus, with its own rules, settings and devices.

public import DBus
import Glibc

/// The real permd, on a bus of its own, where it touches nothing of the session.
///
/// ```swift
/// let devices = try await MockDevices()
/// let permd = try await PermdProcess(devices: devices)
/// let center = PermissionCenter(bus: .address(permd.bus.address))
/// // … test what asks the center …
/// await permd.end()
/// ```
///
/// ``end()`` ends permd and its bus. They also end with the last reference to this object, as when a test throws, and when
/// the test program ends. Its devices may have other users, and end with the last of them.
@LoopActor
public final class PermdProcess {
    private let place: Slot
    /// The bus that permd serves. Apps and agents connect to its address.
    public nonisolated let bus: PrivateBus
    /// Replaces `/` when rules and settings are read.
    package let root: TemporaryFolder
    /// The lines of its log, since its first start.
    public nonisolated let log = EventLog<String>()
    /// The log lines that report that it serves, one per start.
    private let starts = EventLog<String>()
    private let devices: MockDevices?
    private let extraEnvironment: [String: String]
    private let command: [String]
    private var process: ChildProcess?

    /// Starts permd, which serves requests when this returns.
    ///
    /// - Parameters:
    ///   - bus: The bus to serve; a new one if nil.
    ///   - settings: The content of `/etc/permd/permd.conf`.
    ///   - rules: The files of `/etc/permd/policy.d/`, by name. Names end in `.conf`.
    ///   - devices: The devices it sees; none if nil.
    ///   - environment: Additional environment variables.
    ///   - wrapper: A command that executes the program given as its last arguments, such as `prlimit`.
    ///   - program: The path of `permd`; if nil, the one that was installed or built together with this module.
    /// - Throws: ``TestKitError`` if a program cannot be started, or if permd does not serve within 45 seconds.
    public init(
        bus: PrivateBus? = nil, settings: String = "", rules: [String: String] = [:], devices: MockDevices? = nil,
        environment: [String: String] = [:], through wrapper: [String] = [], program: String? = nil
    ) async throws(TestKitError) {
        self.devices = devices
        // The bus is taken first, as everywhere, so that a holder of a daemon slot never waits for another slot.
        let bus = if let bus { bus } else { try await PrivateBus() }
        self.bus = bus
        place = await Slot.daemons.take()
        let root = try TemporaryFolder(["etc", "etc/permd", "etc/permd/policy.d", "sys"])
        self.root = root
        command = wrapper + [program ?? BuiltProgram.path("permd"), "--root", root.path]
        extraEnvironment = (devices?.environment ?? [:]).merging(environment) { $1 }
        if !settings.isEmpty { try root.write(settings, to: "etc/permd/permd.conf") }
        for (name, text) in rules { try root.write(text, to: "etc/permd/policy.d/\(name)") }
        try await start()
    }

    /// The environment variables with which a program is a client of this permd. HOME and the XDG folders are those of
    /// the ``bus``. There is no system bus.
    public nonisolated var environment: [String: String] {
        var environment = bus.environment
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/nonexistent"
        return environment
    }

    package var pid: Int32 { process?.pid ?? 0 }

    /// Starts it after ``stop(_:)``. It owns its name when this returns.
    package func start() async throws(TestKitError) {
        let served = starts.all.count
        let child = try run()
        process = child
        follow(child.errorLines)
        try await starts.wait(for: served + 1)
    }

    /// Starts another daemon alongside, with standard error as a pipe.
    package nonisolated func run() throws(TestKitError) -> ChildProcess {
        try ChildProcess(
            command[0], Array(command.dropFirst()),
            environment: environment.merging(extraEnvironment) { $1 }, standardError: .pipe)
    }

    /// The task retains neither this object nor the process, so that both are released when a test fails.
    private func follow(_ lines: AsyncStream<String>) {
        Task { [log, starts] in
            for await line in lines {
                log.add(line)
                if line.contains("serves org.permd") { starts.add(line) }
            }
        }
    }

    /// Whether the process started last has not exited.
    package var isRunning: Bool { process?.isRunning == true }

    package func signal(_ number: Int32) { process?.terminate(number) }

    /// Sends a signal and waits for the process to exit.
    @discardableResult
    package func stop(_ signal: Int32 = SIGTERM) async -> ChildProcess.Exit? {
        process?.terminate(signal)
        let exit = await process?.waitForExit()
        process = nil
        return exit
    }

    /// Ends permd and starts it again, with the same decisions, as an upgrade does. It serves requests when this returns.
    ///
    /// - Throws: ``TestKitError`` if it does not serve within 45 seconds.
    public func restart() async throws(TestKitError) { try await restart(SIGTERM) }

    package func restart(_ signal: Int32) async throws(TestKitError) {
        await stop(signal)
        try await start()
    }

    package func waitForExit() async -> ChildProcess.Exit? { await process?.waitForExit() }

    /// Ends permd and its bus.
    public func end() async {
        await stop(SIGKILL)
        await bus.end()
    }
}
