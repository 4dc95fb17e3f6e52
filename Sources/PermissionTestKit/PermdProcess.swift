// The built permd on a bus of its own, with rules, settings and devices of its own.

public import DBus
public import Glibc

@LoopActor
public final class PermdProcess {
    private let place: Place
    public let bus: PrivateBus
    /// Stands for `/` when rules and settings are read.
    public let root: TemporaryFolder
    /// Its log, line by line.
    public let log = EventLog<String>()
    /// The lines that tell that it serves, one a start.
    private let starts = EventLog<String>()
    private let extraEnvironment: [String: String]
    private let wrapper: [String]
    private var process: ChildProcess?

    /// - Parameters:
    ///   - settings: the content of `/etc/permd/permd.conf`.
    ///   - rules: files of `/etc/permd/policy.d/` by their names.
    ///   - devices: without them it sees none.
    ///   - environment: what it has in its environment beside what it needs.
    ///   - wrapper: a command that becomes the program given as its last arguments, as prlimit does.
    public init(
        bus: PrivateBus? = nil, settings: String = "", rules: [String: String] = [:], devices: MockDevices? = nil,
        environment: [String: String] = [:], through wrapper: [String] = []
    ) async throws {
        self.wrapper = wrapper
        // A bus first, as everywhere: who has a place for a daemon waits for no other.
        let bus = if let bus { bus } else { try await PrivateBus() }
        self.bus = bus
        place = await Place.daemons.take()
        root = try TemporaryFolder(["etc", "etc/permd", "etc/permd/policy.d", "sys"])
        extraEnvironment = (devices?.environment ?? [:]).merging(environment) { $1 }
        if !settings.isEmpty { try root.write(settings, to: "etc/permd/permd.conf") }
        for (name, text) in rules { try root.write(text, to: "etc/permd/policy.d/\(name)") }
        try await start()
    }

    /// Of this daemon and the programs it knows.
    public nonisolated var environment: [String: String] {
        var environment = bus.environment
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/nonexistent"
        return environment
    }

    public var pid: Int32 { process?.pid ?? 0 }

    /// Starts it; it owns its name when this returns.
    public func start() async throws {
        let served = starts.all.count
        let child = try run()
        process = child
        follow(child.errorLines)
        try await starts.wait(for: served + 1)
    }

    /// Another one beside it, its errors as lines.
    public nonisolated func run() throws(TestKitError) -> ChildProcess {
        let words = wrapper + [BuiltProgram.path("permd"), "--root", root.path]
        return try ChildProcess(
            words[0], Array(words.dropFirst()),
            environment: environment.merging(extraEnvironment) { $1 }, standardError: .pipe)
    }

    /// Holds neither this object nor the process: both are to go when a test fails.
    private func follow(_ lines: AsyncStream<String>) {
        Task { [log, starts] in
            for await line in lines {
                log.add(line)
                if line.contains("serves org.permd") { starts.add(line) }
            }
        }
    }

    /// The process that was started last has not ended.
    public var isRunning: Bool { process?.isRunning == true }

    public func signal(_ number: Int32) { process?.terminate(number) }

    /// Sends a signal and waits for its end.
    @discardableResult
    public func stop(_ signal: Int32 = SIGTERM) async -> ChildProcess.Exit? {
        process?.terminate(signal)
        let exit = await process?.waitForExit()
        process = nil
        return exit
    }

    /// Ends it by a signal and starts it again.
    public func restart(_ signal: Int32 = SIGTERM) async throws {
        await stop(signal)
        try await start()
    }

    /// How its process ended, once it has.
    public func waitForExit() async -> ChildProcess.Exit? { await process?.waitForExit() }

    /// Ends the daemon and its bus.
    public func end() async {
        await stop(SIGKILL)
        await bus.stop()
    }
}
