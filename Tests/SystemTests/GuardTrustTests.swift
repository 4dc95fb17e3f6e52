// permd beside permd-guard: who and what is believed, how permd registers, and what it says of uses.

import CLinux
import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct GuardTrustTests {
    /// A process that has exited, and one in a sandbox that does not say which app it is.
    @Test func whoCannotBeIdentifiedIsRefused() async throws {
        let bench = try await GuardBench()
        let agent = try await bench.stage.agent()
        let child = try ChildProcess("true")
        let dead = try GuardBench.pidfd(child.pid)
        _ = await child.waitForExit()
        bench.deviceGuard.ask(1, about: dead, program: "/usr/bin/true")
        #expect(try await bench.deviceGuard.answer(1) == "undecided")
        let damaged = try await TestApp.flatpak("org.example.App", on: bench.stage.permd, info: "[Application")
        bench.deviceGuard.ask(2, about: try await GuardBench.pidfd(damaged), program: "/usr/bin/true")
        #expect(try await bench.deviceGuard.answer(2) == "undecided")
        let nothing = UnixFD(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        bench.deviceGuard.ask(3, about: nothing)
        #expect(try await bench.deviceGuard.answer(3) == "undecided")
        #expect(agent.prompts.all.isEmpty)
        await damaged.end()
        await bench.end()
    }

    @Test func onlyTheOwnerOfTheNameIsHeard() async throws {
        let bench = try await GuardBench()
        let (app, agent) = (try await bench.stage.app(), try await bench.stage.agent())
        let process = try await GuardBench.pidfd(app)
        let stranger = try bench.deviceGuard.stranger()
        let question: [Value] = [
            .uint64(1), .unixFD(process), .string("camera"), .uint64(0), .string(""), .bool(true),
        ]
        let refusal = ErrorKind.accessDenied.name
        bench.deviceGuard.send("Ask", question, from: stranger)
        try await bench.deviceGuard.receipts.first("the refusal") { $0 == "1 \(refusal)" }
        bench.deviceGuard.ask(2, about: process)
        _ = try await agent.prompt(0)
        bench.deviceGuard.send("Withdraw", [.uint64(2)], from: stranger)
        try await bench.deviceGuard.receipts.first("the refusal") { $0 == "2 \(refusal)" }
        try await bench.settle(3)
        #expect(agent.withdrawals.all.isEmpty && bench.deviceGuard.answers == ["3 undecided"])
        agent.answer(agent.prompts.all[0], with: .grant(.once))
        #expect(try await bench.deviceGuard.answer(2) == "granted")
        #expect(agent.prompts.all.count == 1)
        await app.end()
        await bench.end()
    }

    /// A guard that is newer may ask in another form. It hears that, since a thread may wait.
    @Test func questionsOfAnotherFormAreRefused() async throws {
        let bench = try await GuardBench()
        let app = try await bench.stage.app()
        let process = try await GuardBench.pidfd(app)
        let question: [Value] = [
            .uint64(9), .unixFD(process), .string("camera"), .uint64(0), .string(""), .bool(false),
        ]
        var wrong: [[Value]] = [[], question + [.byte(1)]]
        for index in question.indices {
            var changed = question
            changed[index] = .byte(1)
            wrong.append(changed)
            changed.remove(at: index)
            wrong.append(changed)
        }
        var unknown = question
        unknown[2] = .string("screen")
        wrong.append(unknown)
        for body in wrong { bench.deviceGuard.send("Ask", body) }
        for body in [[], [Value.string("1")]] { bench.deviceGuard.send("Withdraw", body) }
        try await bench.deviceGuard.receipts.wait(for: wrong.count + 2)
        #expect(bench.deviceGuard.receipts.all.allSatisfy { $0.hasSuffix(" \(ErrorKind.invalidArguments.name)") })
        try await bench.settle(23)
        #expect(bench.deviceGuard.answers == ["23 undecided"])
        await app.end()
        await bench.end()
    }

    // MARK: Registration

    @Test func aRegistrationThatFailsIsTriedAgain() async throws {
        let bench = try await GuardBench { $0.refusals = [.limitExceeded, .failed] }
        #expect(bench.deviceGuard.calls.all.filter { $0 == "Register" }.count == 3)
        #expect(try await bench.stage.rows("ListProblems", nil).allSatisfy { $0["about"] != .string("guard") })
        await bench.end()
    }

    /// A guard that refuses this permd is told nothing, until it is another guard.
    @Test func aRefusalIsAProblem() async throws {
        let deviceGuard = try await FakeGuard()
        deviceGuard.refusals = [.accessDenied]
        let stage = try await Stage([], environment: deviceGuard.environment)
        try await deviceGuard.calls.wait(for: 1)
        try await stage.permd.log.first { $0.contains("permd-guard does not ask this permd") }
        let problem = try #require(try await stage.rows("ListProblems", nil).first { $0["about"] == .string("guard") })
        #expect(problem["code"] == .string("guard-refused"))
        try await deviceGuard.restart()
        try await deviceGuard.registered.wait(for: 1)
        #expect(try await stage.rows("ListProblems", nil).allSatisfy { $0["about"] != .string("guard") })
        await stage.end()
        await deviceGuard.stop()
    }

    @Test func aGuardThatStartsLater() async throws {
        let deviceGuard = try await FakeGuard(isThere: false)
        let stage = try await Stage([], environment: deviceGuard.environment)
        let app = try await stage.app()
        #expect(try await app.status(.camera) == "ok camera=unavailable")
        try deviceGuard.appear()
        try await deviceGuard.registered.wait(for: 1)
        await app.end()
        await stage.end()
        await deviceGuard.stop()
    }

    // MARK: Uses

    /// With a guard that can, a refusal ends the use of a camera. A microphone stays open.
    @Test func usesSayWhetherARefusalEndsThem() async throws {
        let bench = try await GuardBench { $0.cuts = true }
        let (stage, deviceGuard) = (bench.stage, bench.deviceGuard)
        try await deviceGuard.cutsRead.first { $0 }
        try await bench.settle(1)
        let uses = try await stage.signals(BusNames.usage)
        let (camera, microphone) = (try PseudoTerminal(), try PseudoTerminal())
        _ = try await stage.devices.add(.camera, 5, backedBy: camera)
        _ = try await stage.devices.add(.microphone, 5, backedBy: microphone)
        let app = try await stage.app()
        try await app.ask("hold \(camera.path)")
        try await app.ask("hold \(microphone.path)")
        try await uses.first("both") { _ in uses.all.count { $0.hasPrefix("UseStarted") } == 2 }
        func cut() async throws -> [String: Value] {
            var table: [String: Value] = [:]
            for row in try await stage.rows("ListUses", nil, BusNames.usage) {
                table[row["permission"]?.stringValue ?? "?"] = row["cut"]
            }
            return table
        }
        #expect(try await cut() == ["camera": .bool(true), "microphone": .bool(false)])
        // Another guard cannot do it.
        deviceGuard.cuts = false
        try await deviceGuard.restart()
        try await deviceGuard.cutsRead.first { !$0 }
        try await bench.settle(2)
        #expect(try await cut() == ["camera": .bool(false), "microphone": .bool(false)])
        await app.end()
        await bench.end()
    }
}
