// What permctl shows about the use of devices: in-use, monitor, history and status.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct InUseTests {
    private func follow(_ stage: CommandStage, _ arguments: String...) throws -> (ChildProcess, EventLog<String>) {
        let child = try stage.start(arguments)
        let log = EventLog<String>()
        Task { [lines = child.lines] in for await line in lines { log.add(line) } }
        return (child, log)
    }

    @Test func everyVerb() async throws {
        let stage = try await CommandStage()
        let terminal = try PseudoTerminal()
        _ = try await stage.devices.add(.camera, 5, backedBy: terminal)
        let nothing = try await stage.run("in-use")
        #expect(nothing.status == 0 && nothing.output == "Nothing is in use.\n")
        #expect(try await stage.run("summary").output == "Nothing was used in the last 7 days.\n")
        let (table, tableLog) = try follow(stage, "in-use", "--watch", "--no-legend")
        let (json, jsonLog) = try follow(stage, "in-use", "--watch", "--json", "camera")
        let (monitor, monitorLog) = try follow(stage, "monitor")
        try await tableLog.first { $0 == "Nothing is in use." }
        try await jsonLog.first { $0 == "[]" }
        // It has subscribed once it prints a line.
        for _ in 0..<2000 where monitorLog.all.isEmpty { _ = try await stage.run("grant", "exe:/nudge", "camera") }
        let app = try await TestApp("using", on: stage.permd)
        try await app.ask("hold \(terminal.path)")
        try await tableLog.first { $0.hasPrefix("camera ") && $0.contains(app.id.description) }
        let line = try await jsonLog.first { $0 != "[]" }
        let use = try #require(try objects(line).first)
        #expect(use["app"] as? String == app.id.description && use["app_name"] as? String == "using")
        #expect(use["device_name"] as? String == "Mock Camera 5" && use["status"] as? String == "undetermined")
        try await monitorLog.first {
            $0.hasSuffix(" use: camera Mock Camera 5 by \(app.id): begins (undetermined)")
        }
        let list = try await stage.run("in-use", "camera")
        #expect(list.status == 0 && list.lines.count == 2 && list.lines[1].contains("Mock Camera 5"))
        #expect(list.lines[1].contains(" stays open ") && use["cut"] as? Bool == false)
        #expect(try await stage.run("in-use", "microphone").status == 1)
        let now = try await stage.run("status", app.id.description)
        #expect(now.lines[1].hasPrefix("camera") && now.lines[1].contains(" now "))
        _ = try await stage.run("deny", app.id.description, "camera")
        try await tableLog.first { $0.contains(" denied, but still open") }
        try await jsonLog.first { $0.contains(#""status":"undetermined""#) && $0.contains(#""status_now":"denied""#) }
        await app.end()
        try await monitorLog.first { $0.contains(" use: camera Mock Camera 5 by \(app.id): ended after ") }
        try await tableLog.wait(for: 4)
        try await jsonLog.wait(for: 4)
        #expect(tableLog.all.last == "Nothing is in use." && jsonLog.all.last == "[]")
        let history = try await stage.run("history", "--outcome", "used", "--no-legend")
        #expect(history.lines.count == 1 && history.lines[0].hasSuffix("s, undetermined"))
        let summary = try await stage.run("summary")
        #expect(summary.status == 0 && summary.lines.count == 2, "\(summary)")
        let titles = "APP PERMISSION USES TIME LAST WITHOUT A GRANT DECIDED".split(separator: " ")
        #expect(summary.lines[0].split(separator: " ") == titles)
        let words = summary.lines[1].split(separator: " ")
        #expect(words.prefix(3) == [app.id.description[...], "camera", "1"] && words[5] == "1" && words[6] == "denied")
        let record = try #require(try objects(try await stage.run("summary", "--days", "2", "--json").output).first)
        #expect(record["ungranted"] as? Int == 1 && record["in_use"] as? Bool == false)
        #expect((record["days"] as? [Int])?.count == 2 && record["by"] as? String == "permctl")
        #expect(try await stage.run("summary", "--days", "0").status == 64)
        #expect(try await stage.run("history", "--outcome", "bypassed").status == 1)
        #expect(try await stage.run("history", "--outcome", "unknown").status == 64)
        let rows = try objects(try await stage.run("history", "--outcome", "used", "--json").output)
        #expect(rows[0]["status"] as? String == "undetermined" && rows[0]["seconds"] is Int)
        let used = try objects(try await stage.run("status", app.id.description, "--json").output)
        #expect(used[0]["used"] as? Int == rows[0]["time"] as? Int && used[1]["used"] == nil)
        for child in [table, json, monitor] { child.terminate() }
        await stage.end()
    }

    /// A bar gets a line for each change, with a name that is no markup, and no text once nothing is in use.
    @Test func theModuleOfABar() async throws {
        let stage = try await CommandStage()
        let terminal = try PseudoTerminal()
        _ = try await stage.devices.add(.camera, 5, backedBy: terminal)
        let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Examples/bar/in_use.py").path
        let programs = URL(filePath: BuiltProgram.path("permctl")).deletingLastPathComponent().path
        let environment = stage.permd.environment.merging(["PATH": "\(programs):/usr/bin:/bin"]) { $1 }
        let (lines, signs) = (EventLog<String>(), EventLog<String>())
        var bars: [ChildProcess] = []
        for (arguments, log) in [([], lines), (["--plain"], signs)] {
            let bar = try ChildProcess("/usr/bin/python3", [script] + arguments, environment: environment)
            Task { for await line in bar.lines { log.add(line) } }
            bars.append(bar)
        }
        let none = #"{"text": "", "tooltip": "", "class": "granted"}"#
        try await lines.first { $0 == none }
        try await signs.first { $0 == "" }
        let app = try await TestApp("<b>", on: stage.permd)
        try await app.ask("hold \(terminal.path)")
        try await lines.first { $0.contains("camera: &lt;b&gt;") && $0.contains(#""class": "ungranted""#) }
        try await signs.first { $0 == "📷" }
        _ = try await stage.run("grant", app.id.description, "camera")
        try await lines.first { $0.contains("camera: ") && $0.contains(#""class": "granted""#) }
        await app.end()
        try await lines.first { _ in lines.all.count > 3 && lines.all.last == none }
        for bar in bars { bar.terminate() }
        await stage.end()
    }

    @Test func aCameraThatTheGuardCutsOff() async throws {
        let deviceGuard = try await FakeGuard()
        deviceGuard.cuts = true
        let stage = try await CommandStage(environment: deviceGuard.environment)
        let terminal = try PseudoTerminal()
        _ = try await stage.devices.add(.camera, 5, backedBy: terminal)
        try await deviceGuard.cutsRead.first { $0 }
        let app = try await TestApp("using", on: stage.permd)
        let (json, log) = try follow(stage, "in-use", "--watch", "--json", "camera")
        try await log.first { $0 == "[]" }
        try await app.ask("hold \(terminal.path)")
        try await log.first { $0.contains(#""cut":true"#) }
        _ = try await stage.run("deny", app.id.description, "camera")
        let list = try await stage.run("in-use")
        #expect(list.lines[1].contains(" denied ") && list.lines[1].contains(" ends "), "\(list)")
        #expect(!list.output.contains("still open"))
        json.terminate()
        await app.end()
        await stage.end()
        await deviceGuard.stop()
    }
}
