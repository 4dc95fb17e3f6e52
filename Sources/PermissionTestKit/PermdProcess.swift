// The built permd on a private bus, with its own rules, settings and devices.

public import DBus
public import Glibc

@LoopActor
public final class PermdProcess {
    private let place: Place
    public let bus: PrivateBus
    /// Replaces `/` when rules and settings are read.
    public let root: TemporaryFolder
    public let log = EventLog<String>()
    /// The log lines that report that it serves, one per start.
    private let starts = EventLog<String>()
    private let extraEnvironment: [String: String]
    private let wrapper: [String]
    private var process: ChildProcess?

    /// - Parameters:
    ///   - settings: The content of `/etc/permd/permd.conf`.
    ///   - rules: The files of `/etc/permd/policy.d/`, by name.
    ///   - devices: The devices it sees; none if nil.
    ///   - environment: Additional environment variables.
    ///   - wrapper: A command that executes the program given as its last arguments, such as prlimit.
    public init(
        bus: PrivateBus? = nil, settings: String = "", rules: [String: String] = [:], devices: MockDevices? = nil,
        environment: [String: String] = [:], through wrapper: [String] = []
    ) async throws {
        self.wrapper = wrapper
        // The bus is taken first, as everywhere, so that a holder of a daemon slot never waits for another slot.
        let bus = if let bus { bus } else { try await PrivateBus() }
        self.bus = bus
        place = await Place.daemons.take()
        root = try TemporaryFolder(["etc", "etc/permd", "etc/permd/policy.d", "sys"])
        extraEnvironment = (devices?.environment ?? [:]).merging(environment) { $1 }
        if !settings.isEmpty { try root.write(settings, to: "etc/permd/permd.conf") }
        for (name, text) in rules { try root.write(text, to: "etc/permd/policy.d/\(name)") }
        try await start()
    }

    /// The environment of this daemon and of its clients.
    public nonisolated var environment: [String: String] {
        var environment = bus.environment
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/nonexistent"
        return environment
    }

    public var pid: Int32 { process?.pid ?? 0 }

    /// Starts the daemon, which owns its name when this returns.
    public func start() async throws {
        let served = starts.all.count
        let child = try run()
        process = child
        follow(child.errorLines)
        try await starts.wait(for: served + 1)
    }

    /// Starts another daemon alongside, with standard error as a pipe.
    public nonisolated func run() throws(TestKitError) -> ChildProcess {
        let words = wrapper + [BuiltProgram.path("permd"), "--root", root.path]
        return try ChildProcess(
            words[0], Array(words.dropFirst()),
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
    public var isRunning: Bool { process?.isRunning == true }

    public func signal(_ number: Int32) { process?.terminate(number) }

    /// Sends a signal and waits for the process to exit.
    @discardableResult
    public func stop(_ signal: Int32 = SIGTERM) async -> ChildProcess.Exit? {
        process?.terminate(signal)
        let exit = await process?.waitForExit()
        process = nil
        return exit
    }

    /// Ends the process with a signal and starts it again.
    public func restart(_ signal: Int32 = SIGTERM) async throws {
        await stop(signal)
        try await start()
    }

    public func waitForExit() async -> ChildProcess.Exit? { await process?.waitForExit() }

    /// Ends the daemon and its bus.
    public func end() async {
        await stop(SIGKILL)
        await bus.stop()
    }
}
