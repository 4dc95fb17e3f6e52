// When permd has the bus start the indicator, and when not.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct StartTests {
    @Test func itRunsWhileSomethingIsInUse() async throws {
        let stage = try await IndicatorStage()
        let first = try await stage.use()
        let second = try await stage.use(.microphone)
        try await stage.owners.wait(for: 1)
        try await stage.end(use: first)
        try await stage.end(use: second)
        #expect(try await stage.owners.wait(for: 2)[1] == "")
        // The next use starts another one.
        try await stage.use()
        #expect(try await stage.owners.wait(for: 3)[2] != "")
        await stage.end()
    }

    /// What shows uses as a part of the desktop takes the name; the bus starts nothing while it has it.
    @Test func theDesktopShowsThem() async throws {
        let stage = try await IndicatorStage()
        try await stage.use()
        let indicator = try await stage.owners.wait(for: 1)[0]
        let ended = EventLog<Bool>()
        let watch = stage.desk.whenNameVanishes(indicator) { ended.add(true) }
        let replaces: UInt32 = 2
        let reply = try await stage.desk.call(
            .busCall("RequestName", [.string(BusNames.indicatorService), .uint32(replaces)]))
        #expect(reply.body.first?.uint32Value == 1)
        try await ended.wait(for: 1)
        #expect(try await stage.owners.wait(for: 2)[1] == stage.desk.uniqueName)
        watch.cancel()
        await stage.end()
    }

    private static let failing = "org.example.Failing"

    /// A program in its place that only counts its starts.
    private func counting(_ settings: String = "") async throws -> (IndicatorStage, TemporaryFolder) {
        let folder = try TemporaryFolder()
        let stage = try await IndicatorStage(
            settings: settings,
            services: [
                BusNames.indicatorService: ["/bin/sh", "-c", "echo started >>\(folder.file("starts")); exit 1"],
                StartTests.failing: ["/bin/sh", "-c", "exit 1"],
            ])
        return (stage, folder)
    }

    private func starts(_ folder: TemporaryFolder) -> Int {
        let text = try? String(contentsOfFile: folder.file("starts"), encoding: .utf8)
        return text?.split(separator: "\n").count ?? 0
    }

    /// Everything that would start it happens while it is off; then a use while it is on, as the control.
    @Test func turnedOff() async throws {
        let (stage, folder) = try await counting("[Indicator]\nEnabled=no\n")
        let agent = ScriptedAgent(try stage.permd.bus.connect(), otherwise: .grant(.always))
        try await agent.register()
        let changes = try await stage.decisionChanges()
        for _ in 0..<3 { try await stage.end(use: try await stage.use()) }
        try await stage.request(.camera)
        try await changes.first { $0.hasSuffix("camera grant") }
        // The bus starts these after whatever it was asked to start before.
        for _ in 0..<5 {
            let start = Message.busCall("StartServiceByName", [.string(StartTests.failing), .uint32(0)])
            await #expect(throws: BusError.self) { _ = try await stage.desk.call(start) }
        }
        #expect(starts(folder) == 0)
        // The setting is read when the first use begins; the file takes a moment to be noticed.
        try stage.permd.root.write("", to: "etc/permd/permd.conf")
        var uses = 0
        while starts(folder) == 0, uses < 5000 {
            uses += 1
            try await stage.end(use: try await stage.use())
        }
        #expect(starts(folder) >= 1)
        await stage.end()
    }

    /// A failing start is tried again with the next first use only.
    @Test func itCannotBeStarted() async throws {
        let (stage, folder) = try await counting()
        let use = try await stage.use()
        try await stage.permd.log.first("the failure") { $0.contains("The indicator could not be started") }
        try await stage.use(.microphone)
        #expect(starts(folder) == 1)
        try await stage.end(use: use)
        #expect(starts(folder) == 1)
        try await stage.use(.location)
        #expect(starts(folder) == 1)
        await stage.end()
    }

    @Test func laterFirstUses() async throws {
        let (stage, folder) = try await counting()
        var uses = 0
        while starts(folder) < 3, uses < 5000 {
            uses += 1
            try await stage.end(use: try await stage.use())
        }
        #expect(starts(folder) >= 3 && starts(folder) <= uses)
        await stage.end()
    }
}
