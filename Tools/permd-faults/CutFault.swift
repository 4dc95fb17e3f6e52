// The system bus is cut, or logind dies with a call pending, while prompts wait for a locked screen: none is shown before
// it is unlocked, no request is lost, and no decision for the session ends.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class CutFault {
    private enum Harm: String, CaseIterable {
        /// The bus ends, and another one is there at once, or a moment later.
        case bus, busLater
        /// logind leaves the bus and comes back.
        case logind
        /// The same while permd waits for its answer.
        case logindAsked
    }

    private let rounds: Int
    private let devices: MockDevices
    private let report = Report("a cut system bus")
    private var dice: Dice

    /// The most milliseconds without a bus, far below the time after which it counts as ended.
    private static let longest = 1000
    private static let kept = Ledger.Key(app: "exe:/usr/bin/kept", permission: "microphone")

    init(_ seed: UInt64, rounds: Int, _ devices: MockDevices) {
        dice = Dice(seed: seed)
        self.rounds = rounds
        self.devices = devices
    }

    func run() async -> Report {
        for round in 0..<rounds {
            let kind = PrivateBus.Kind.allCases[round % PrivateBus.Kind.allCases.count]
            do { try await play(kind) } catch { report.lose("round \(round): \(error)") }
            report.count("rounds")
        }
        for what in ["answers"] + Harm.allCases.map(\.rawValue) { report.expect(what) }
        return report
    }

    private func play(_ kind: PrivateBus.Kind) async throws {
        let folder = try TemporaryFolder()
        var logind = try await lockedLogind(kind, at: folder)
        let place = try await Place(
            devices, environment: ["DBUS_SYSTEM_BUS_ADDRESS": "unix:path=\(folder.file("bus"))"])
        try await logind.listings.wait(for: 1)
        let agent = ScriptedAgent(try place.permd.bus.connect(), otherwise: .grant(.once))
        try await agent.register(level: .system)
        let app = try await TestApp("waiting", on: place.permd)
        for permission in [Permission.camera, .microphone] { try await app.request(permission.rawValue, [permission]) }
        if let error = await place.decide(CutFault.kept, "deny session") { throw TestKitError(error) }
        for harm in Harm.allCases.shuffled(using: &dice) {
            try await carryOut(harm, kind, &logind, folder)
            report.count(harm.rawValue)
            try await check(place, agent, harm)
        }
        logind.change("1", isLocked: false)
        for permission in [Permission.camera, .microphone] {
            let answer = try await app.response(permission.rawValue)
            if answer == "0 refused= statuses=\(permission.rawValue)=granted" {
                report.count("answers")
            } else {
                report.lose("\(permission.rawValue): \(answer)")
            }
        }
        agent.connection.close()
        await app.end()
        await place.end()
        await logind.stop()
    }

    /// A logind with a locked session on a bus that is the system bus from now on.
    private func lockedLogind(_ kind: PrivateBus.Kind, at folder: TemporaryFolder) async throws -> FakeLogind {
        let logind = try await FakeLogind(kind)
        logind.add("1", isLocked: true)
        let link = folder.file("link")
        guard symlink(String(logind.address.dropFirst("unix:path=".count)), link) == 0,
            rename(link, folder.file("bus")) == 0
        else { throw TestKitError("cannot link to \(logind.address)") }
        return logind
    }

    /// Returns when permd has asked logind again.
    private func carryOut(
        _ harm: Harm, _ kind: PrivateBus.Kind, _ logind: inout FakeLogind, _ folder: TemporaryFolder
    ) async throws {
        switch harm {
        case .bus, .busLater:
            let old = logind
            if harm == .busLater {
                await old.stop()
                await Place.pause(milliseconds: dice.number(1...CutFault.longest))
            }
            logind = try await lockedLogind(kind, at: folder)
            await old.stop()
            try await logind.listings.wait(for: 1)
        case .logind:
            let asked = logind.listings.all.count
            try logind.restart()
            try await logind.listings.wait(for: asked + 1)
        case .logindAsked:
            logind.isSlow = true
            var asked = logind.listings.all.count
            for _ in 0..<2 {
                try logind.restart()
                asked += 1
                try await logind.listings.wait(for: asked)
            }
            logind.isSlow = false
        }
    }

    private func check(_ place: Place, _ agent: ScriptedAgent, _ harm: Harm) async throws {
        let states = try await place.rows("ListRequests").map { $0["state"]?.stringValue ?? "" }
        if states != ["queued", "queued"] { report.lose("\(harm.rawValue): the requests are \(states)") }
        let decisions = try await place.rows("ListDecisions").compactMap(Ledger.key)
        if decisions != [CutFault.kept] { report.lose("\(harm.rawValue): the decisions are \(decisions)") }
        if !agent.prompts.all.isEmpty { report.lose("\(harm.rawValue): a prompt was shown on the locked screen") }
        if !place.permd.isRunning { throw TestKitError("permd exited") }
    }
}
