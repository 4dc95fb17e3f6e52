// One round of the sound fault: recorders start, programs are killed at random moments and started again, and then every
// recorder has got what it may get.

import DBus
import Glibc
import PermissionTestKit
import TestSupport

@LoopActor
final class SoundRound {
    enum Role: String, CaseIterable {
        case granted, refused
        /// In a sandbox, and nobody answers for it.
        case sandboxed
    }

    private struct Recording {
        let role: Role
        let kind: Recorder.Kind
        let recorder: Recorder
        /// Whether a server that it needs has died, or was not there.
        var isCutOff: Bool
        var name: String { "the \(role.rawValue) \(kind.rawValue) recorder" }
    }

    private let server: SoundServer
    private let victims: SoundVictims
    private let sandbox: FlatpakSandbox
    private let thieves: FlatpakSandbox
    private let report: Report
    private var dice: Dice
    private var recordings: [Recording] = []
    private var thefts: [SoundThief] = []
    private let began = Loop.uptimeMilliseconds()
    /// What happened so far, and what was wrong.
    private var steps: [String] = []
    private var losses: [String] = []
    private let logged: (point: Int, permd: Int)

    var isLost: Bool { !losses.isEmpty }

    init(
        _ server: SoundServer, _ victims: SoundVictims, _ sandbox: FlatpakSandbox, thieves: FlatpakSandbox,
        _ report: Report, _ dice: Dice
    ) {
        self.server = server
        self.victims = victims
        self.sandbox = sandbox
        self.thieves = thieves
        self.report = report
        self.dice = dice
        logged = (server.log.all.count, server.permd.log.all.count)
    }

    /// - Parameter trick: What is tried at the end, in addition to what is tried meanwhile.
    func run(killing list: [SoundVictims.Victim], _ trick: SoundThief.Trick) async throws {
        for role in Role.allCases.shuffled(using: &dice) { try await start(role) }
        // Otherwise the first kill comes while they connect.
        if dice.oneIn(2) { try await hear() }
        for victim in list {
            if dice.oneIn(2) { try await steal(dice.pick(SoundThief.Trick.allCases)) }
            if victims.isDown(victim) || isLastGuard(victim) { try await restore() }
            await Bench.pause(milliseconds: dice.number(1...400))
            await kill(victim)
            if dice.oneIn(2) { try await start(dice.pick(Role.allCases)) }
            if dice.oneIn(3) { try await hearOn() }
            if dice.oneIn(2) { try await restore() }
        }
        if !victims.down.isEmpty { try await restore() }
        try await check(trick)
    }

    func end() async {
        for theft in thefts {
            await theft.end()
            report.count(theft.trick.rawValue, theft.attempts.all.count)
        }
        if !thefts.isEmpty { try? await SoundThief.cleanUp(server) }
        let ends = recordings.map { recording in Task { await recording.recorder.end() } }
        for end in ends { await end.value }
    }

    // MARK: Faults

    private func start(_ role: Role) async throws {
        let kind = dice.pick(Recorder.Kind.sounds)
        let isCutOff = SoundVictims.Victim.allCases.contains { victims.isDown($0) && isNeeded($0, by: kind) }
        let recorder = try await Recorder(
            kind, role.rawValue, on: server, through: role == .sandboxed ? sandbox : nil)
        recordings.append(Recording(role: role, kind: kind, recorder: recorder, isCutOff: isCutOff))
        report.count("recorders")
        report.count("\(role.rawValue) recorders")
        logStep("started \(recordings.last!.name)\(isCutOff ? ", which has no server" : "")")
    }

    private func steal(_ trick: SoundThief.Trick) async throws {
        thefts.append(try await SoundThief(trick, on: server, through: thieves))
        logStep("began with \(trick.rawValue)")
    }

    /// Without both of them, PipeWire before 0.3.75 makes any link.
    private func isLastGuard(_ victim: SoundVictims.Victim) -> Bool {
        let guards: Set<SoundVictims.Victim> = [.point, .wireplumber]
        return guards.contains(victim) && !victims.down.isDisjoint(with: guards)
    }

    private func kill(_ victim: SoundVictims.Victim) async {
        let signal = dice.pick([SIGKILL, SIGTERM])
        logStep("\(signal == SIGKILL ? "SIGKILL" : "SIGTERM") to \(victim.rawValue)")
        for index in recordings.indices where isNeeded(victim, by: recordings[index].kind) {
            recordings[index].isCutOff = true
        }
        if let problem = await victims.kill(victim, signal) { lose(problem) }
    }

    private func restore() async throws {
        let names = victims.down.map(\.rawValue).sorted().joined(separator: ", ")
        try await victims.restore(dice.fork())
        logStep("\(names) there again")
    }

    /// Whether a recorder of this kind does not outlive the victim.
    private func isNeeded(_ victim: SoundVictims.Victim, by kind: Recorder.Kind) -> Bool {
        switch victim {
        case .point, .permd: false
        case .pipewire, .wireplumber: true
        case .pulse: kind == .pulse
        }
    }

    // MARK: Checks

    private func check(_ trick: SoundThief.Trick) async throws {
        try await steal(trick)
        for role in [Role.granted, .refused].shuffled(using: &dice) { try await start(role) }
        if !recordings.contains(where: { $0.role == .sandboxed && !$0.isCutOff }) { try await start(.sandboxed) }
        let restored = Loop.uptimeMilliseconds()
        try await hear()
        report.most("ms at most until all granted had the tone", Int(Loop.uptimeMilliseconds() - restored))
        _ = try await thefts.last!.attempts.wait(for: 1)
        // The others had as much time.
        try await hear(20)
        for theft in thefts { if let loot = theft.loot { lose("the app in a sandbox \(loot)") } }
        for recording in recordings where recording.role != .granted {
            if recording.recorder.tones > 0 { lose("\(recording.name) got \(recording.recorder.tones) tones") }
            if !recording.isCutOff, !recording.recorder.isRunning {
                lose("\(recording.name) has ended: \(recording.recorder.errors.all)")
            }
        }
        if !server.isEnforcing { lose("permd-pipewire has ended") }
        if !server.permd.isRunning { lose("permd has ended") }
    }

    /// Every granted recorder that has its servers gets the tone.
    private func hear(_ chunks: Int = 10) async throws {
        for recording in recordings where recording.role == .granted && !recording.isCutOff {
            try await hear(recording, chunks)
        }
    }

    /// Who records already goes on while permd and permd-pipewire are away.
    private func hearOn() async throws {
        for recording in recordings
        where recording.role == .granted && !recording.isCutOff && recording.recorder.tones > 0 {
            try await hear(recording, 5)
            report.count("went on meanwhile")
        }
    }

    private func hear(_ recording: Recording, _ chunks: Int) async throws {
        do { try await recording.recorder.hears(chunks) } catch {
            // The chunks themselves are thousands.
            throw TestKitError(
                """
                \(recording.name) stays silent: it got \(recording.recorder.chunks) chunks, \
                \(recording.recorder.tones) of them with the tone, and \
                \(recording.recorder.isRunning ? "runs" : "has ended"): \(recording.recorder.errors.all)
                """)
        }
    }

    // MARK: What happened

    private func logStep(_ what: String) { steps.append("\(Loop.uptimeMilliseconds() - began) ms: \(what)") }

    func lose(_ what: String) {
        logStep("lost: \(what)")
        losses.append(what)
    }

    /// Reports the losses, with what is needed to find their cause.
    func reportLosses(_ when: String) async {
        guard isLost else { return }
        for loss in losses { report.lose("\(when): \(loss)") }
        for step in steps { Report.say("   \(step)") }
        for line in server.permd.log.all.dropFirst(logged.permd).suffix(40) { Report.say("   permd: \(line)") }
        for line in server.log.all.dropFirst(logged.point).suffix(40) { Report.say("   permd-pipewire: \(line)") }
        let look = ["pw-link --links --id", "pactl list short source-outputs", "pw-metadata -n permd", "wpctl status"]
            .map { "timeout 5 \($0) 2>&1" }.joined(separator: "; ")
        Report.say((try? await server.run(look)) ?? "")
    }
}
