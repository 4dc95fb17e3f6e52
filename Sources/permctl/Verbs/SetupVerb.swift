// permctl setup: does what doctor advises and this user can do, asking before each step.

import ArgumentParser
import DesktopServices
import Glibc
import PermissionClient
import System

struct SetupVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup", abstract: "Set permd up for this user, asking before each step.",
        discussion: """
            Lets GNOME Shell show the prompts, lets portals ask through permd, and starts permd-pipewire, where these \
            are installed and not set up yet. permctl portal disable and gnome-extensions disable undo it.
            """)

    @Flag(help: "Do every step without asking.")
    var yes = false
    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let examination = Examination(settings: PermissionSettings())
        let steps = await examination.findings().compactMap { SetupStep($0) }
        guard yes || steps.isEmpty || isatty(STDIN_FILENO) == 1 else {
            throw Failure(.usage, "there is no terminal to ask in; --yes does every step without asking")
        }
        var records: [Record] = []
        var hasFailed = false
        for step in steps {
            var (result, lines): (String, [TerminalText]) = ("declined", [])
            if yes || isWanted(step) {
                do {
                    (result, lines) = ("done", try await step.run())
                } catch let error as Failure {
                    (result, lines, hasFailed) = ("failed", [error.message], true)
                }
            }
            records.append([
                "step": step.rawValue, "result": result, "text": lines.map(\.text).joined(separator: "\n"),
            ])
            if !json { Output.line(lines.joined(separator: "\n")) }
        }
        let left = Examination.first(await examination.findings())
        if json {
            try Output.json(records)
        } else {
            Output.line(left.map { "Next: \($0)" } ?? "Everything is set up; permctl doctor shows what there is.")
        }
        if hasFailed { throw Failure(.no) }
    }

    private func isWanted(_ step: SetupStep) -> Bool {
        Output.ask("\(step.question) [Y/n] ")
        return ["", "y", "yes"].contains(readLine()?.lowercased() ?? "n")
    }
}

/// What a person can set up without administrator rights.
enum SetupStep: String {
    case gnome, portals, pipewire

    /// The step that puts a finding right; nil if none does.
    init?(_ finding: Finding) {
        switch finding.code {
        case "gnome-disabled": self = .gnome
        case "portals-off": self = .portals
        case "enforcement-missing" where Systemd.isRunning: self = .pipewire
        default: return nil
        }
    }

    /// What it sets up, in a few words.
    var subject: String {
        switch self {
        case .gnome: "GNOME's extension"
        case .portals: "portals"
        case .pipewire: "the sound server"
        }
    }

    fileprivate var question: TerminalText {
        switch self {
        case .gnome: "Let GNOME Shell show the prompts, above every window?"
        case .portals: "Let portals ask through permd, for flatpaks, browsers and other apps?"
        case .pipewire: "Start permd-pipewire, so that an app records only when it may? It restarts WirePlumber."
        }
    }

    /// Returns what was done, a line each.
    fileprivate func run() async throws -> [TerminalText] {
        switch self {
        case .gnome:
            guard (try? await PermissionSettings().enableGnomeExtension()) == true else {
                throw Failure(.no, "GNOME Shell did not enable its extension; log out and in, then run this again")
            }
            return ["GNOME Shell shows the prompts"]
        case .portals: return try PortalSwitch().enable(restarts: true) + ["portals ask through permd"]
        case .pipewire:
            // It reads permd-pipewire's scripts when it starts.
            _ = Program.output("systemctl", "--user", "try-restart", "wireplumber")
            guard Program.output("systemctl", "--user", "start", "permd-pipewire") != nil else {
                throw Failure(.no, "permd-pipewire could not be started; see journalctl --user -u permd-pipewire")
            }
            return ["permd-pipewire is running"]
        }
    }
}
