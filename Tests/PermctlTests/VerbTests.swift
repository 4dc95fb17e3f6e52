// Every verb: its output as a table and as JSON, and its exit status.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct VerbTests {
    @Test func decidingAndShowingStatus() async throws {
        let stage = try await CommandStage()
        #expect(try await stage.run("status", "--json").output == "[]\n")
        let granted = try await stage.run("grant", "exe:/usr/bin/firefox", "camera")
        #expect(
            granted.status == 0
                && granted.output
                    == "camera is granted to exe:/usr/bin/firefox: always\nto undo: permctl reset exe:/usr/bin/firefox camera\n"
        )
        #expect(try await stage.run("deny", "firefox", "microphone", "--session").status == 0)
        #expect(try await stage.run("grant", "flatpak:org.gnome.Maps", "location", "--for", "2h").status == 0)
        let status = try await stage.run("status")
        #expect(status.status == 0)
        #expect(status.lines.count == 3)
        #expect(status.lines[0].split(separator: " ") == ["APP", "CAMERA", "MICROPHONE", "BLUETOOTH", "LOCATION"])
        #expect(status.lines[1].hasPrefix("exe:/usr/bin/firefox ") && status.lines[1].contains("denied, this session"))
        // Columns align.
        let columns = ["CAMERA", "MICROPHONE", "LOCATION"].map { status.lines[0].range(of: $0)?.lowerBound }
        #expect(columns.allSatisfy { $0 != nil })
        let camera = try #require(columns[0])
        #expect(status.lines[1][camera...].hasPrefix("granted"))
        #expect(try await stage.run("status", "--no-legend").lines.count == 2)
        let one = try await stage.run("status", "Maps")
        #expect(one.lines.count == 5)
        #expect(
            one.lines[4].hasPrefix("location") && one.lines[4].contains("granted") && one.lines[4].contains("until "))
        let rows = try objects(try await stage.run("status", "firefox", "--json").output)
        #expect(rows.count == 4 && rows[0]["status"] as? String == "granted" && rows[0]["by"] as? String == "permctl")
        await stage.end()
    }

    @Test func switching() async throws {
        let stage = try await CommandStage()
        let off = try await stage.run("off", "camera")
        let line = "camera is off for every app; permctl on camera switches it on"
        #expect(off.status == 0 && off.lines == [line])
        #expect(try await stage.run("status").lines.last == line)
        // What is connected stays so, which the radio's own switch ends.
        #expect(try await stage.run("off", "bluetooth").lines.last?.contains("rfkill block bluetooth") == true)
        let on = try await stage.run("on", "camera", "--json")
        let record = try #require(json(on.output) as? [String: Any])
        #expect(record["permission"] as? String == "camera" && record["on"] as? Bool == true)
        #expect(!(try await stage.run("status").output.contains(line)))
        await stage.end()
    }

    @Test func aLinkIsFollowed() async throws {
        let stage = try await CommandStage()
        let folder = try TemporaryFolder()
        try folder.write("", to: "a program")
        let link = folder.file("link")
        #expect(symlink(folder.file("a program"), link) == 0)
        let granted = try await stage.run("grant", "exe:\(link)", "camera", "--yes")
        #expect(
            granted.status == 0 && granted.errors.hasPrefix("exe:\(link) leads to exe:\(folder.file("a program")), "))
        #expect(granted.output.hasPrefix("camera is granted to exe:\(folder.file("a program")): always"))
        // Of an interpreter and its script, both are.
        let script = try await stage.run("deny", "exe:\(link):\(link)", "camera")
        let real = folder.file("a program")
        #expect(script.output.hasPrefix("camera is denied to exe:\(real):\(real): always"))
        #expect(try await stage.run("deny", "exe:\(folder.file("absent"))", "camera").errors.isEmpty)
        await stage.end()
    }

    @Test func appsByPartOfTheirName() async throws {
        let stage = try await CommandStage()
        _ = try await stage.run("grant", "exe:/usr/bin/firefox", "camera")
        _ = try await stage.run("grant", "exe:/usr/bin/firefox-esr", "camera")
        let ambiguous = try await stage.run("status", "fire")
        #expect(ambiguous.status == 64 && ambiguous.output.isEmpty)
        #expect(ambiguous.errors.contains("  exe:/usr/bin/firefox\n  exe:/usr/bin/firefox-esr\n"))
        let unknown = try await stage.run("status", "opera")
        #expect(unknown.status == 1 && unknown.errors.contains("opera"))
        #expect(try await stage.run("status", "firefox").status == 0)
        #expect(try await stage.run("deny", "esr", "camera").output.contains("exe:/usr/bin/firefox-esr"))
        await stage.end()
    }

    /// No untrusted text does, whether from an executable's path, the command line or a file. JSON has all of it,
    /// escaped.
    @Test func outputNeverMovesTheCursor() async throws {
        let stage = try await CommandStage()
        let folder = try TemporaryFolder()
        let path = folder.file("a\u{9B}31m\u{202E}evil")
        try await BuiltProgram.copy("permctl", to: path)
        let child = try ChildProcess(path, ["request", "camera"], environment: stage.permd.environment)
        let agent = try await stage.agent([.grant(.always)])
        #expect(await child.waitForExit() == .exited(0))
        let app = "exe:\(path)"
        func isShown(_ text: String) -> Bool {
            text.unicodeScalars.allSatisfy { scalar in
                scalar == "\n" || ![.control, .format].contains(scalar.properties.generalCategory)
            }
        }
        let unknown = "\u{9B}2J\u{202E}"
        for arguments in [
            ["status"], ["status", app], ["history"], ["history", "--json"], ["status", "--json"], ["export"],
            ["deny", app, "microphone"], ["deny", app, "microphone", "--json"], ["reset", app], ["status", unknown],
            [unknown], ["--\(unknown)"], ["grant", app, unknown], ["history", "--since", unknown], ["import", unknown],
            ["grant", app, "camera", "--for", unknown], ["restrictions", "--\(unknown)"],
        ] {
            let child = try stage.start(arguments)
            async let output = child.output()
            var errors = ""
            for await line in child.errorLines { errors += line + "\n" }
            let text = await output
            #expect(!(text + errors).isEmpty && isShown(text) && isShown(errors), "\(arguments): \(text)\(errors)")
        }
        _ = try await stage.run("grant", app, "location")
        let rows = try objects(try await stage.run("status", "--json").output)
        #expect(rows.contains { $0["app"] as? String == app })
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    @Test func resetting() async throws {
        let stage = try await CommandStage()
        for app in ["exe:/a", "exe:/b"] {
            for permission in ["camera", "microphone"] { _ = try await stage.run("grant", app, permission) }
        }
        let one = try await stage.run("reset", "exe:/a", "camera")
        #expect(one.status == 0 && one.output == "forgot camera for exe:/a (granted)\n")
        let again = try await stage.run("reset", "exe:/a", "camera")
        #expect(again.status == 1 && again.errors.contains("nothing to forget"))
        let everybody = try await stage.run("reset", "microphone")
        #expect(
            everybody.lines == ["forgot microphone for exe:/a (granted)", "forgot microphone for exe:/b (granted)"])
        let all = try await stage.run("reset", "--all", "--json")
        #expect(all.status == 0)
        #expect(try objects(all.output).map { $0["app"] as? String } == ["exe:/b"])
        #expect(try await stage.run("reset").status == 64)
        #expect(try await stage.run("reset", "exe:/a", "--all").status == 64)
        await stage.end()
    }

    @Test func requesting() async throws {
        let stage = try await CommandStage()
        let agent = try await stage.agent([.grant(.once), .deny(.once), .dismiss])
        let granted = try await stage.run("request", "camera", "--reason", "a reason", "--explain", "A title", "A body")
        #expect(granted.status == 0 && granted.lines.last == "camera      granted")
        #expect(granted.errors.contains("the prompt is on the screen; answer it there"))
        let prompt = agent.prompts.all[0]
        #expect(prompt.items[0]["reason"] == .string("a reason"))
        #expect(prompt.details["explanation"]?.elements == [.string("A title"), .string("A body")])
        let refused = try await stage.run("request", "--json", "microphone")
        #expect(refused.status == 1)
        let object = try #require(json(refused.output) as? [String: Any])
        #expect(object["refused"] as? String == "microphone" && object["dismissed"] as? Bool == false)
        let dismissed = try await stage.run("request", "location")
        #expect(dismissed.status == 1 && dismissed.errors.contains("the request was dismissed"))
        // With --wait it gives up in time, and withdraws its request.
        let late = try await stage.run("request", "camera", "--wait", "0.3")
        #expect(late.status == 75 && late.errors.contains("no answer within 0.3 seconds; the request was withdrawn"))
        try await agent.withdrawals.wait(for: 1)
        for wrong in [
            ["request"], ["request", "camera", "camera"], ["request", "x"], ["request", "camera", "--wait", "0"],
        ] {
            let child = try stage.start(wrong)
            #expect(await child.waitForExit() == .exited(64), "\(wrong)")
        }
        await stage.end()
    }

    @Test func placesInTheQueueAreShown() async throws {
        let stage = try await CommandStage()
        let first = try stage.start(["request", "camera"])
        var firstNotes = first.errorLines.makeAsyncIterator()
        #expect(await firstNotes.next() == "waiting: next")
        #expect(try await stage.run("queue").lines[1].hasPrefix("0         queued"))
        let second = try stage.start(["request", "microphone"])
        var errors = second.errorLines.makeAsyncIterator()
        #expect(await errors.next() == "waiting: 1 before this one")
        #expect(await errors.next()?.hasPrefix("no agent is running") == true)
        let rows = try objects(try await stage.run("queue", "--json").output)
        #expect(rows.map { $0["permissions"] as? [String] } == [["camera"], ["microphone"]])
        first.terminate()
        #expect(await errors.next() == "waiting: next")
        second.terminate()
        #expect(try await lines(stage, "queue") { $0.count == 1 } == ["No requests are waiting."])
        await stage.end()
    }

    @Test func listVerbs() async throws {
        let rule = "[Rule no-maps]\nApps=exe:*/maps\nPermissions=location\nAction=restrict\n"
        let stage = try await CommandStage(rules: ["10-a.conf": rule])
        let devices = try await stage.run("devices")
        #expect(devices.status == 0 && devices.lines.count == 4)
        #expect(try await stage.run("devices", "bluetooth").status == 1)
        #expect(try objects(try await stage.run("devices", "camera", "--json").output)[0]["usable"] as? Bool == true)
        let restrictions = try await stage.run("restrictions")
        #expect(restrictions.lines.count == 2 && restrictions.lines[1].contains("10-a.conf:1"))
        let empty = try await stage.run("history")
        #expect(empty.status == 0 && empty.output == "The history is empty.\n")
        for filter in [["--app", "exe:/a"], ["--permission", "camera"], ["--outcome", "used"], ["--since", "1h"]] {
            let child = try stage.start(["history"] + filter)
            #expect(await child.waitForExit() == .exited(1), "\(filter)")
        }
        for verb in ["status", "queue"] {
            #expect(try await !stage.run(verb).output.isEmpty, "\(verb)")
            let rows = try await stage.run(verb, "--no-legend")
            #expect(rows.status == 0 && rows.output.isEmpty, "\(verb)")
        }
        _ = try await stage.run("grant", "exe:/a", "camera")
        _ = try await stage.run("deny", "exe:/b", "microphone")
        #expect(try await stage.run("history").lines.count == 3)
        #expect(try await stage.run("history", "--app", "exe:/b", "--no-legend").lines.count == 1)
        #expect(try await stage.run("history", "--permission", "camera", "--since", "1h").lines.count == 2)
        #expect(try await stage.run("history", "--limit", "1", "--no-legend").lines[0].contains("exe:/b"))
        #expect(try await stage.run("history", "--since", "tomorrow-ish").status == 64)
        let restricted = try await stage.run("status", "exe:/usr/bin/maps")
        #expect(restricted.output.contains("restricted") && restricted.output.contains("rule no-maps"))
        await stage.end()
    }

    @Test func exportingAndImporting() async throws {
        let stage = try await CommandStage()
        _ = try await stage.run("grant", "exe:/a", "camera")
        _ = try await stage.run("deny", "exe:/b", "microphone", "--until", "2100-01-01")
        _ = try await stage.run("grant", "exe:/c", "location", "--session")
        let exported = try await stage.run("export")
        let folder = try TemporaryFolder()
        let file = try folder.write(exported.output, to: "decisions.json")
        _ = try await stage.run("reset", "--all")
        let imported = try await stage.run("import", file)
        #expect(imported.status == 0 && imported.output == "2 decisions were imported\n")
        #expect(try await stage.run("export").output.contains("exe:/b"))
        // An error in the file leaves everything unchanged.
        _ = try await stage.run("reset", "--all")
        let good = #"{"app":"exe:/a","permission":"camera","decision":"grant","duration":"always"}"#
        let wrong = [
            "", "[]", "{}", #"{"version":2,"decisions":[]}"#, #"{"version":1}"#,
            #"{"version":1,"decisions":[\#(good),{"app":"x","permission":"camera","decision":"grant","duration":"always"}]}"#,
            #"{"version":1,"decisions":[\#(good),\#(good)]}"#,
            #"{"version":1,"decisions":[\#(good),{"app":"exe:/a","permission":"screen","decision":"grant","duration":"always"}]}"#,
            #"{"version":1,"decisions":[{"app":"exe:/a","permission":"camera","decision":"grant","duration":"once"}]}"#,
            #"{"version":1,"decisions":[{"app":"exe:/a","permission":"camera","decision":"grant","duration":"until"}]}"#,
            #"{"version":1,"decisions":[{"app":7,"permission":"camera","decision":"grant","duration":"always"}]}"#,
        ]
        for text in wrong {
            let result = try await stage.run("import", try folder.write(text, to: "wrong.json"))
            #expect(result.status == 65 && result.errors.contains("nothing was imported"), "\(text)")
        }
        #expect(try await stage.run("import", folder.file("missing")).status == 65)
        #expect(try await stage.run("status").output == "Nothing was decided yet.\n")
        await stage.end()
    }

    @Test func monitoring() async throws {
        let stage = try await CommandStage()
        let agent = try await stage.agent([.grant(.always)])
        let monitor = try stage.start(["monitor"])
        let machine = try stage.start(["monitor", "--json"])
        let (log, records) = (EventLog<String>(), EventLog<String>())
        Task { [lines = monitor.lines] in for await line in lines { log.add(line) } }
        Task { [lines = machine.lines] in for await line in lines { records.add(line) } }
        let app = try await TestApp("asking", on: stage.permd)
        // The monitor is subscribed once it prints a line; each of these grants makes it print one.
        for _ in 0..<2000 where log.all.isEmpty || records.all.isEmpty {
            _ = try await stage.run("grant", "exe:/nudge", "camera")
        }
        try await app.request("t", [.camera])
        for state in ["queued", "showing", "answered"] {
            try await log.first { $0.hasSuffix(" request: \(app.id) for camera: \(state)") }
        }
        try await log.first { $0.hasSuffix("decision: camera for \(app.id): granted, always") }
        _ = try await stage.run("deny", "exe:/nudge", "location", "--session")
        try await log.first { $0.hasSuffix("decision: location for exe:/nudge: denied, this session") }
        _ = try await stage.run("reset", "exe:/nudge", "location")
        try await log.first { $0.hasSuffix("decision: location for exe:/nudge: forgotten or ended") }
        try await stage.devices.remove(.microphone, 0)
        try await log.first { $0.contains("device: microphone") && $0.hasSuffix("was removed") }
        try await records.first { $0.contains("\"removed\"") }
        let found = try records.all.map { try #require(try json($0) as? [String: Any]) }
        func has(_ values: [String: String]) -> Bool {
            found.contains { record in values.allSatisfy { record[$0] as? String == $1 } }
        }
        #expect(has(["kind": "request", "app": app.id.description, "outcome": "showing"]))
        #expect(has(["app": app.id.description, "permission": "camera", "outcome": "granted", "duration": "always"]))
        #expect(has(["kind": "decision", "app": "exe:/nudge", "permission": "location", "outcome": "ended"]))
        #expect(has(["kind": "device", "permission": "microphone", "outcome": "removed"]))
        monitor.terminate()
        machine.terminate()
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    @Test func exitStatusesOfFailures() async throws {
        let stage = try await CommandStage(settings: "[Prompts]\nAgentWaitSec=1\n")
        let nobody = try await stage.run("request", "camera")
        #expect(nobody.status == 75 && nobody.errors.contains("no agent"))
        #expect(try await stage.run("grant", "exe:relative", "camera").status == 1)
        #expect(try await stage.run("nonsense").status == 64)
        #expect(try await stage.run("grant", "exe:/a", "camera", "--for", "ever").status == 64)
        #expect(try await stage.run("grant", "exe:/a", "camera", "--for", "1h", "--session").status == 64)
        await stage.permd.stop()
        let gone = try await stage.run("status")
        #expect(gone.status == 69 && gone.errors.contains("permd is not running"))
        let nowhere = try await stage.run(
            "status", environment: ["DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus"])
        #expect(nowhere.status == 69 && nowhere.errors.contains("no session bus"))
        await stage.end()
    }

    /// A file that is cut is not taken for a whole one.
    @Test(arguments: [
        "export", "status", "status --json", "history", "devices", "doctor", "queue", "restrictions", "in-use", "check",
        "deny exe:/a camera", "grant exe:/a camera --yes", "reset exe:/a --json", "--help",
        "status --help", "--version", "--generate-completion-script bash",
    ])
    func outputThatCannotBeWritten(_ verb: String) async throws {
        let stage = try await CommandStage()
        let child = try ChildProcess(
            "sh", ["-c", "exec \"$0\" $1 >/dev/full", BuiltProgram.path("permctl"), verb],
            environment: stage.permd.environment, standardError: .pipe)
        var errors = ""
        for await line in child.errorLines { errors += line }
        #expect(await child.waitForExit() == .exited(74) && errors.contains("No space left on device"), "\(errors)")
        await stage.end()
    }

    /// What it prints, it takes: a name that would reverse the line is escaped.
    @Test func identitiesAsTheyArePrinted() async throws {
        let stage = try await CommandStage()
        let name = "exe:/opt/\u{202E}gpj.exe"
        #expect(try await stage.run("deny", name, "camera").status == 0)
        let shown = "exe:/opt/\\u{202e}gpj.exe"
        #expect(try await stage.run("status").output.contains(shown))
        #expect(try await stage.run("reset", shown).status == 0)
        #expect(try await !stage.run("status").output.contains(shown))
        await stage.end()
    }

    /// A library that it used may not raise the priority of its threads, and says so in the journal.
    @Test func nothingInTheJournal() async throws {
        let child = try ChildProcess(
            "env", Superuser.without("sys_nice") + [BuiltProgram.path("permctl"), "status"],
            environment: ["LIBDISPATCH_LOG": "stderr", "DBUS_SESSION_BUS_ADDRESS": "unix:path=/nonexistent/bus"],
            standardError: .pipe)
        var lines: [String] = []
        for await line in child.errorLines { lines.append(line) }
        #expect(await child.waitForExit() == .exited(69))
        #expect(lines.count == 1 && lines.first?.contains("no session bus") == true, "\(lines)")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completions(_ shell: String) async throws {
        let child = try ChildProcess(BuiltProgram.path("permctl"), ["--generate-completion-script", shell])
        let script = await child.output()
        #expect(await child.waitForExit() == .exited(0))
        #expect(script.contains("permctl") && script.contains("restrictions"))
        guard shell == "bash" else { return }
        let check = try ChildProcess("bash", ["-n"], standardInput: .pipe, standardError: .null)
        check.write(script)
        check.closeInput()
        #expect(await check.waitForExit() == .exited(0))
    }

    @Test func everyVerbHasHelp() async throws {
        for verb in [
            "status", "grant", "deny", "reset", "request", "queue", "devices", "restrictions", "history", "monitor",
            "agent", "doctor", "export", "import", "in-use", "portal",
        ] {
            let child = try ChildProcess(BuiltProgram.path("permctl"), [verb, "--help"])
            let help = await child.output()
            #expect(await child.waitForExit() == .exited(0))
            #expect(help.contains("OVERVIEW") && help.contains("USAGE: permctl \(verb)"))
        }
    }

    /// Runs the verb until its output meets the condition.
    private func lines(
        _ stage: CommandStage, _ verb: String, _ fits: ([String]) -> Bool
    ) async throws -> [String] {
        for _ in 0..<500 {
            let lines = try await stage.run(verb).lines
            if fits(lines) { return lines }
        }
        throw TestKitError("permctl \(verb) never printed the expected lines")
    }
}
