// The daemon from start to exit: arguments, bus name, systemd notifications, signals, and the end of the bus.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct LifecycleTests {
    private func run(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> (
        ChildProcess.Exit, String, [String]
    ) {
        let child = try ChildProcess(
            BuiltProgram.path("permd"), arguments, environment: environment, standardError: .pipe)
        let output = await child.output()
        var errors: [String] = []
        for await line in child.errorLines { errors.append(line) }
        return (await child.waitForExit(), output, errors)
    }

    @Test func arguments() async throws {
        let help = try await run(["--help"])
        #expect(help.0 == .exited(0) && help.1.contains("--root"))
        let version = try await run(["--version"])
        #expect(version.0 == .exited(0) && version.1.hasPrefix("permd 0."))
        for wrong in [["--nonsense"], ["--root"], ["--root", "relative"], ["word"], ["--root="]] {
            let result = try await run(wrong)
            #expect(result.0 == .exited(64) && result.1.isEmpty && !result.2.isEmpty, "\(wrong)")
        }
    }

    @Test func withoutABus() async throws {
        let result = try await run([], ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus"])
        #expect(result.0 == .exited(69))
        #expect(result.2.contains { $0.contains("no session bus") })
    }

    @Test func aSecondPermdExits() async throws {
        let stage = try await Stage()
        try await stage.set("grant", AppID("exe:/a")!, .camera)
        let second = try stage.permd.run()
        var errors: [String] = []
        for await line in second.errorLines { errors.append(line) }
        #expect(await second.waitForExit() == .exited(1))
        #expect(errors.contains { $0.contains("Another permd serves this session bus already") })
        #expect(try await stage.decisions().count == 1)
        await stage.end()
    }

    /// A refusal in one would be none in the other.
    @Test func aPermdOfAnotherBusOnTheSameStoreExits() async throws {
        let stage = try await Stage()
        let other = try await PrivateBus()
        var environment = stage.permd.environment
        environment["DBUS_SESSION_BUS_ADDRESS"] = other.address
        let second = try await run([], environment)
        #expect(second.0 == .exited(1))
        #expect(second.2.contains { $0.contains("Another permd uses the decisions in ") }, "\(second.2)")
        // When the first has ended, the store is free.
        await stage.permd.stop(SIGKILL)
        let third = try ChildProcess(
            BuiltProgram.path("permd"), environment: environment, standardOutput: .null, standardError: .pipe)
        var isServing = false
        for await line in third.errorLines where line.contains("serves org.permd") {
            isServing = true
            break
        }
        #expect(isServing)
        third.terminate(SIGKILL)
        _ = await third.waitForExit()
        await other.end()
        await stage.end()
    }

    @Test func permdExitsWithItsBus() async throws {
        let stage = try await Stage()
        try await stage.set("grant", AppID("exe:/a")!, .camera)
        await stage.permd.bus.end()
        #expect(await stage.permd.waitForExit() == .exited(1))
        #expect(stage.permd.log.all.contains { $0.contains("The session bus went away") })
        await stage.end()
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func stoppedCleanly(_ signal: Int32) async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let shown = try await stage.app("shown")
        let queued = try await stage.app("queued")
        try await shown.request("t", [.camera])
        try await queued.request("t", [.camera])
        try await agent.prompts.wait(for: 1)
        try await stage.set("grant", AppID("exe:/a")!, .location)
        #expect(await stage.permd.stop(signal) == .exited(0))
        for app in [shown, queued] {
            let response = try await app.response("t")
            #expect(response.hasPrefix("2 error=org.permd.Error.NoAgent "), "\(response)")
            #expect(response.contains(" retryable=yes ") && response.hasSuffix("stopping=yes"))
        }
        try await agent.withdrawals.wait(for: 1)
        try await stage.permd.start()
        #expect(try await stage.decisions() == ["exe:/a location grant always"])
        await stage.end()
    }

    @Test func systemdIsNotified() async throws {
        let folder = try TemporaryFolder()
        let notices = try NoticeSocket(folder.file("notify"))
        let stage = try await Stage(environment: [
            "NOTIFY_SOCKET": folder.file("notify"), "WATCHDOG_USEC": "200000",
        ])
        try await notices.log.first { $0.hasPrefix("READY=1") }
        // Watchdog notifications are sent repeatedly.
        try await notices.log.first { [notices] _ in notices.log.all.filter { $0 == "WATCHDOG=1" }.count >= 4 }
        stage.permd.signal(SIGHUP)
        try await notices.log.first { $0.hasPrefix("RELOADING=1\nMONOTONIC_USEC=") }
        try await notices.log.first { [notices] _ in notices.log.all.filter { $0.hasPrefix("READY=1") }.count == 2 }
        await stage.permd.stop()
        try await notices.log.first { $0.hasPrefix("STOPPING=1") }
        await stage.end()
    }

    /// Threads exist only while they have a job.
    @Test func oneThreadWhenIdle() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent([.grant(.always)])
        let app = try await stage.app()
        try await app.request("t", [.camera])
        _ = try await app.response("t")
        try await waitUntil("permd's last thread but one to end") { threads(of: stage.permd.pid) == 1 }
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    /// The first call makes the bus start the daemon, whatever characters its path contains.
    @Test func activation() async throws {
        let odd = "a $HOME \"b\" 'c' d"
        let services = try TemporaryFolder([odd])
        let permd = services.file("\(odd)/permd")
        try await BuiltProgram.copy("permd", to: permd)
        try services.write(
            ServiceFile.text("org.permd", [permd, "--root", services.file(odd)]), to: "org.permd.service")
        let bus = try await PrivateBus(serviceDirectory: services.path)
        let desk = try bus.connect()
        let reply = try await desk.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.access, member: "GetStatus",
                [.strings([])]))
        #expect(reply.body.first?.stringTable?.count == 4)
        desk.close()
        await bus.end()
    }

    private func threads(of pid: Int32) -> Int {
        guard let folder = opendir("/proc/\(pid)/task") else { return 0 }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        return count - 2
    }
}
