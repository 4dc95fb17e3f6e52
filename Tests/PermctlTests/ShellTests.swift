// Completion in real shells, and wrong command lines.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import Testing

@testable import permctl

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ShellTests {
    /// The command for a shell with the script loaded. Its prompt is `ready>`, which appears once it accepts input.
    private static func start(_ shell: String, _ folder: TemporaryFolder) async throws -> String {
        let script = await (try ChildProcess(BuiltProgram.path("permctl"), ["--generate-completion-script", shell]))
            .output()
        let path =
            "PATH=\(BuiltProgram.path("permctl").split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" }):$PATH"
        switch shell {
        case "bash":
            let file = try folder.write(
                script + "\nbind 'set show-all-if-ambiguous on'\nPS1='ready> '\n\(path)\n", to: "script")
            return "bash --rcfile '\(file)' -i"
        case "zsh":
            try folder.write(script, to: "_permctl")
            try folder.write(
                "fpath=('\(folder.path)' $fpath)\nautoload -U compinit\ncompinit -D -u\nPS1='ready> '\n\(path)\n",
                to: ".zshrc")
            return "ZDOTDIR='\(folder.path)' zsh -i"
        default:
            let file = try folder.write(
                script + "\nfunction fish_prompt; printf 'ready> '; end\nset fish_greeting\n", to: "script.fish")
            return "HOME='\(folder.path)' \(path) fish --no-config -C 'source \(file)' -i"
        }
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func appsPermissionsAndTimesAreCompleted(_ shell: String) async throws {
        let stage = try await CommandStage()
        for app in ["exe:/usr/bin/firefox", "flatpak:org.gnome.Maps", "flatpak:org.example.One"] {
            _ = try await stage.run("grant", app, "camera")
        }
        let folder = try TemporaryFolder()
        let screen = try await Screen(
            stage, command: "sh '\(try folder.write(try await ShellTests.start(shell, folder), to: "start"))'")
        for (typed, expected) in [
            ("permctl gra", "permctl grant"), ("permctl grant fir", "permctl grant firefox"),
            ("permctl deny Maps loc", "permctl deny Maps location"),
            ("permctl grant firefox camera --for 15", "permctl grant firefox camera --for 15m"),
            ("permctl reset micro", "permctl reset microphone"),
            ("permctl history --app On", "permctl history --app One"),
            // Bash splits words at colons.
            ("permctl grant flatpak:org.g", "permctl grant flatpak:org.g\(shell == "bash" ? "" : "nome.Maps")"),
        ] {
            try await screen.tmux("clear-history")
            try await screen.type("C-u", "C-l")
            try await screen.shows("ready>")
            try await screen.tmux("send-keys", "-l", typed)
            try await screen.shows("ready> \(typed)")
            try await screen.type("Tab")
            try await screen.shows("ready> \(expected)")
        }
        await screen.end()
        await stage.end()
    }

    /// A folder or an imported file may have a command in its name.
    @Test(arguments: ["bash", "zsh", "fish"])
    func namesAreNotRun(_ shell: String) async throws {
        let stage = try await CommandStage()
        let folder = try TemporaryFolder()
        for name in ["$(touch${IFS}$MARK)", "`touch${IFS}$MARK`", "$[$(touch${IFS}$MARK)]", "firefox"] {
            _ = try await stage.run("grant", "exe:/tmp/\(name)", "camera")
        }
        let start = "export MARK='\(folder.file("mark"))'\n" + (try await ShellTests.start(shell, folder))
        let screen = try await Screen(stage, command: "sh '\(try folder.write(start, to: "start"))'")
        try await screen.shows("ready>")
        for (typed, expected) in [("permctl grant ", "firefox"), ("permctl grant fir", "permctl grant firefox")] {
            try await screen.type("C-u")
            try await screen.tmux("send-keys", "-l", typed)
            try await screen.type("Tab", "Tab")
            try await screen.shows(expected)
        }
        await screen.end()
        #expect(access(folder.file("mark"), F_OK) != 0)
        await stage.end()
    }

    @Test func onlyUniqueNamesAreCompleted() throws {
        let apps = ["exe:/usr/bin/fire", "exe:/opt/fire", "exe:/opt/fox", "flatpak:org.Fox"].compactMap { AppID($0) }
        #expect(Completions.candidates("f", apps) == ["flatpak:org.Fox"])
        #expect(Completions.candidates("fo", apps) == ["fox"])
        #expect(Completions.candidates("fi", apps).isEmpty)
        #expect(Completions.candidates("\"exe:/o", apps) == ["exe:/opt/fire", "exe:/opt/fox"])
        #expect(Completions.candidates("", apps) == ["Fox", "fox"] + apps.map(\.description))
    }

    /// Every error has one form: the program's name, what is wrong, then the usage.
    @Test func errorsHaveOneForm() async throws {
        let stage = try await CommandStage()
        for (arguments, message) in [
            (["stauts"], "there is no verb “stauts”; the verbs are status, grant, deny, "),
            (["request", "camera", "--wait", "-1"], "--wait must be more than 0 and at most 86400 seconds"),
            (["history", "--limit", "-1"], "--limit must be at least 1"),
            (["history", "--since", "-2d"], "“-2d” is not a time; use a form such as 2d, 18:00 or 2026-12-24"),
            (
                ["grant", "exe:/a", "camera", "--for", "-5m"],
                "“-5m” is not a duration; use a form such as 30m, 2h or 1h30m"
            ),
            (
                ["grant", "exe:/a", "camera", "--until", "-5"],
                "“-5” is not a time; use 18:00, 2026-12-24 or 2026-12-24T18:00"
            ),
            (["status", "--jso"], "Unknown option '--jso'. Did you mean '--json'?"),
            (["request", "camera", "--wait"], "Missing value for '--wait <seconds>'"),
            (["grant", "exe:/a"], "Missing expected argument '<permission>'"),
            (["status", "opera"], "no app that permd knows or that is installed matches “opera”; write the identity"),
        ] {
            let child = try stage.start(arguments, environment: ["XDG_DATA_DIRS": "/nonexistent"])
            var lines: [String] = []
            for await line in child.errorLines { lines.append(line) }
            _ = await child.waitForExit()
            let isExpected = lines.first?.hasPrefix("permctl: \(message)") == true
            #expect(isExpected, "\(arguments): \(lines)")
            #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("Usage: ") || $0.hasPrefix("  See ") }, "\(lines)")
        }
        await stage.end()
    }
}
