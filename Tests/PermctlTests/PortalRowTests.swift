// What portals remember, in their real store: permctl shows and deletes it.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct PortalRowTests {
    @Test func rowsAreShownAndDeleted() async throws {
        let stage = try await CommandStage()
        // There is no store yet.
        #expect(try await stage.run("status", "--all").output == "Nothing was decided yet.\n")
        let portal = try await DesktopPortal(on: stage.permd, backends: nil)
        try await portal.remember("screencast", "2f1d", ["org.example.Recorder": ["yes"]])
        try await portal.remember("screencast", "77aa", ["org.example.Recorder": ["yes"]])
        try await portal.remember("remote-desktop", "9c3e", ["com.example.Desk": ["yes"]])
        let everybody = ["": ["yes"], "org.example.Recorder": ["no"], "snap.notes": ["yes"], "x": ["ask"]]
        try await portal.remember("background", "background", everybody)
        // Nobody was asked about these.
        try await portal.remember("notifications", "notification", ["org.example.Recorder": ["yes"]])

        let shown = try await stage.run("status", "--all")
        let rows = shown.lines.map { $0.split(separator: " ").joined(separator: " ") }
        #expect(
            rows.suffix(8) == [
                "What portals remember:", "APP WHAT STATUS ENTRY", "(programs without an ID) background granted -",
                "com.example.Desk remote-desktop granted 9c3e", "org.example.Recorder background denied -",
                "org.example.Recorder screencast granted 2f1d", "org.example.Recorder screencast granted 77aa",
                "snap.notes background granted -",
            ], "\(rows)")
        #expect(try await !stage.run("status").output.contains("screencast"))
        let one = try objects(try await stage.run("status", "flatpak:org.example.Recorder", "--all", "--json").output)
        #expect(one.compactMap { $0["table"] as? String } == ["background", "screencast", "screencast"])
        #expect(one.count == 4 + 3 && one.last?["decision"] as? String == "grant")

        // By the portal's name of an app, by permd's, and for all apps.
        let forgotten = try await stage.run("reset", "flatpak:org.example.Recorder", "screencast")
        #expect(
            forgotten.output == String(repeating: "forgot screencast for org.example.Recorder (granted)\n", count: 2))
        #expect(try await stage.run("reset", "com.example.Desk", "remote-desktop", "--json").status == 0)
        #expect(try await stage.run("reset", "com.example.Desk", "remote-desktop").status == 1)
        #expect(try await stage.run("reset", "snap:notes", "background").status == 0)
        #expect(try await stage.run("status", "--all", "--no-legend").lines.count == 2)
        #expect(try await stage.run("reset", "background").status == 0)
        #expect(try await stage.run("status", "--all").output == "Nothing was decided yet.\n")
        await portal.end()
        await stage.end()
    }
}
