// permctl doctor: what it finds, and its advice.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct DoctorTests {
    @Test func doctor() async throws {
        let stage = try await CommandStage()
        let ill = try await stage.run("doctor")
        #expect(ill.status == 1)
        #expect(ill.lines.contains { $0.hasPrefix("!!  agent") && $0.contains("permctl agent") })
        let agent = try await stage.agent()
        let well = try await stage.run("doctor")
        #expect(well.status == 0, "\(well.output)")
        for about in ["bus", "permd", "agent", "camera", "store", "policy", "settings"] {
            #expect(well.lines.contains { $0.hasPrefix("ok  \(about)") }, "\(about)")
        }
        let onX11 = try await stage.run("doctor", environment: ["DISPLAY": ":0"])
        #expect(onX11.status == 0 && onX11.lines.contains { $0.hasPrefix("--  display") && $0.contains("X11") })
        let onWayland = try await stage.run("doctor", environment: ["DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"])
        #expect(!onWayland.output.contains("X11"))
        try stage.permd.root.write("[Rule x]\nApps=\n", to: "etc/permd/policy.d/bad.conf")
        try await stage.permd.restart()
        let bad = try await stage.run("doctor", "--json")
        #expect(bad.status == 1)
        let finding = try #require(try objects(bad.output).first { $0["about"] as? String == "policy" })
        #expect((finding["file"] as? String)?.hasSuffix("policy.d/bad.conf") == true && finding["line"] as? Int == 2)
        #expect(finding["code"] as? String == "policy-file" && finding["state"] as? String == "bad")
        #expect((finding["advice"] as? String)?.isEmpty == false)
        withExtendedLifetime(agent) {}
        await stage.permd.stop()
        let gone = try await stage.run("doctor")
        #expect(gone.status == 1 && gone.output.contains("start permd"))
        await stage.end()
    }

    /// A missing agent is not a problem while the bus can start one.
    @Test func doctorKnowsAnAgentThatCanBeStarted() async throws {
        let services = try TemporaryFolder()
        try services.write(ServiceFile.text("org.permd.Agent", ["/bin/false"]), to: "org.permd.Agent.service")
        let bus = try await PrivateBus(serviceDirectory: services.path)
        let stage = try await CommandStage(settings: "[Prompts]\nAgentWaitSec=1\n", bus: bus)
        let well = try await stage.run("doctor")
        #expect(well.status == 0, "\(well.output)")
        #expect(well.lines.contains { $0.hasPrefix("ok  agent") && $0.contains("the bus starts one") })
        let refused = try await stage.run("request", "camera")
        #expect(refused.status == 75 && refused.errors.contains("none could be started"), "\(refused)")
        let ill = try await stage.run("doctor")
        #expect(ill.status == 1 && !ill.output.contains("ok  agent"))
        #expect(ill.lines.contains { $0.hasPrefix("!!  agent") && $0.contains("could not start an agent") })
        await stage.end()
    }

    @Test func doctorKnowsWhyAnAgentFailed() async throws {
        let stage = try await CommandStage(settings: "[Prompts]\nAgentWaitSec=1\n")
        let agent = try await stage.agent([.values([.string("yes")])])
        let refused = try await stage.run("request", "camera")
        #expect(refused.status == 75 && refused.errors.contains("the agent failed to show the prompt"), "\(refused)")
        let ill = try await stage.run("doctor", "--json")
        let finding = try #require(try objects(ill.output).first { $0["code"] as? String == "agent-failed" })
        #expect((finding["text"] as? String)?.contains("instead of sa{sa{sv}}") == true, "\(finding)")
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    /// An agent that fails is named as long as it is there, although another shows its prompts.
    @Test func doctorNamesAnAgentThatFailsBesideAnother() async throws {
        let stage = try await CommandStage()
        let well = try await stage.agent([.grant(.once), .grant(.once)])
        let ill = try await stage.agent([.error("org.example.Error.Broken")])
        #expect(try await stage.run("request", "camera").status == 0)
        let finding = try objects(try await stage.run("doctor", "--json").output)
            .first { $0["code"] as? String == "agent-failed" }
        #expect(
            (finding?["text"] as? String)?.contains(ill.connection.uniqueName) == true, "\(String(describing: finding))"
        )
        ill.connection.close()
        try await well.prompts.wait(for: 1)
        #expect(try await stage.run("request", "microphone").status == 0)
        let report = try await stage.run("doctor")
        #expect(!report.output.contains("failed the last prompt"), "\(report.output)")
        await stage.end()
    }

    /// That there is none is no problem.
    @Test func doctorKnowsTheGuard() async throws {
        let stage = try await CommandStage()
        let (agent, deviceGuard) = (try await stage.agent(), try await FakeGuard(isThere: false))
        let text = "programs outside sandboxes are not asked about when they open device nodes themselves"
        let alone = try await stage.run("doctor")
        #expect(alone.status == 0 && alone.lines.contains { $0.hasPrefix("--  guard") && $0.contains(text) })
        deviceGuard.version =
            try await stage.run("--version").output.split(whereSeparator: \.isWhitespace).last.map(String.init) ?? ""
        try deviceGuard.appear()
        let well = try await stage.run("doctor", environment: deviceGuard.environment)
        #expect(well.status == 0 && well.lines.contains { $0.hasPrefix("ok  guard") }, "\(well)")
        #expect(!well.output.contains(text))
        (deviceGuard.version, deviceGuard.problems) = ("0.0.9", ["the kernel has no BTF; install another"])
        let ill = try await stage.run("doctor", "--json", environment: deviceGuard.environment)
        #expect(ill.status == 1)
        let findings = try objects(ill.output).filter { $0["about"] as? String == "guard" }
        #expect(findings.map { $0["code"] as? String } == ["guard-version", "guard-problem"])
        #expect(findings.allSatisfy { $0["state"] as? String == "bad" && ($0["advice"] as? String)?.isEmpty == false })
        #expect(findings.last?["text"] as? String == "the kernel has no BTF; install another")
        withExtendedLifetime(agent) {}
        await deviceGuard.stop()
        await stage.end()
    }

    @Test func doctorKnowsTheGate() async throws {
        let bus = try await PrivateBus()
        let environment = ["DBUS_SYSTEM_BUS_ADDRESS": bus.address]
        let stage = try await CommandStage(environment: environment)
        let agent = try await stage.agent()
        func lines() async throws -> [String] {
            let run = try await stage.run("doctor", environment: environment)
            return run.lines.filter { $0.dropFirst(4).hasPrefix("gate ") }
        }
        let alone = try await lines()
        #expect(alone.count == 1 && alone[0].hasPrefix("--  gate") && alone[0].contains("install permd-gate"))
        let gate = try FakeService(on: bus)
        for name in [BusNames.bluetoothGateService, "org.bluez"] { try gate.own(name) }
        let before = try await lines()
        #expect(before.count == 1 && before[0].hasPrefix("ok  gate") && before[0].contains("stands before Bluetooth"))
        // BlueZ of another process.
        await gate.end()
        let other = try ChildProcess(
            "/usr/bin/python3",
            [
                "-c",
                "import dbus, time\nbus = dbus.SystemBus()\nbus.request_name('org.bluez')\nprint('owned', flush=True)\ntime.sleep(1000)",
            ],
            environment: environment)
        for await line in other.lines where line == "owned" { break }
        try FakeService(on: bus).own(BusNames.bluetoothGateService)
        let besides = try await lines()
        #expect(besides.allSatisfy { !$0.hasPrefix("ok") }, "\(besides)")
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    /// permd's own view: the guard does not take it.
    @Test func doctorKnowsThatTheGuardRefusesPermd() async throws {
        let deviceGuard = try await FakeGuard()
        deviceGuard.refusals = [.accessDenied]
        let stage = try await CommandStage(environment: deviceGuard.environment)
        let agent = try await stage.agent()
        try await stage.permd.log.first { $0.contains("permd-guard does not ask this permd") }
        let ill = try await stage.run("doctor")
        #expect(ill.status == 1)
        #expect(ill.lines.contains { $0.hasPrefix("!!  guard") && $0.contains("does not ask this permd") }, "\(ill)")
        withExtendedLifetime(agent) {}
        await stage.end()
        await deviceGuard.stop()
    }

    @Test func doctorListsEnforcementPoints() async throws {
        let stage = try await CommandStage()
        let agent = try await stage.agent()
        let config = try TemporaryFolder(["systemd", "systemd/user"])
        try config.write("", to: "systemd/user/permd-pipewire.service")
        let environment = ["XDG_CONFIG_HOME": config.path]
        let absent = try await stage.run("doctor", environment: environment)
        #expect(absent.status == 1)
        #expect(absent.lines.contains { $0.hasPrefix("!!  enforcement") && $0.contains("permd-pipewire is installed") })
        // A program of that name is the enforcement point.
        let point = try await TestApp("permd-pipewire", on: stage.permd)
        #expect(try await point.ask("call \(BusNames.enforcement) Subscribe") == "ok")
        let well = try await stage.run("doctor", environment: environment)
        #expect(well.status == 0, "\(well.output)")
        #expect(well.lines.contains { $0.hasPrefix("ok  enforcement") && $0.contains(point.id.description) })
        withExtendedLifetime(agent) {}
        await point.end()
        await stage.end()
    }
}
