// permctl portal: makes permd the backend of the portals' access dialogs, or not.

import ArgumentParser
import PermissionClient

struct PortalVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "portal", abstract: "Let portals ask through permd, or with the desktop's own dialogs.",
        discussion: """
            Applies to this user. Flatpaks, browsers and toolkits ask for the camera and more through portals; once \
            enabled, those questions join the queue and become decisions.
            """,
        subcommands: [EnablePortal.self, DisablePortal.self, PortalStatus.self], defaultSubcommand: PortalStatus.self)
}

/// The options of both changes.
struct PortalOptions: ParsableArguments {
    @Flag(help: "Do not restart xdg-desktop-portal; the change takes effect at the next login.")
    var noRestart = false
    @Flag(help: "Print JSON.")
    var json = false

    /// Prints what was done and then the outcome; as JSON the state afterwards.
    func report(_ done: [TerminalText], outcome: TerminalText) throws {
        guard !json else { return try Output.json(try PortalSwitch().record) }
        Output.line((done + [outcome]).joined(separator: "\n"))
    }
}

struct EnablePortal: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable", abstract: "Let portals ask through permd.",
        discussion: """
            Writes what the installed version of xdg-desktop-portal needs into the user's configuration, keeps \
            everything else in it, and restarts xdg-desktop-portal.
            """)

    @OptionGroup var options: PortalOptions

    func run() throws {
        let done = try PortalSwitch().enable(restarts: !options.noRestart)
        let outcome: TerminalText =
            done.isEmpty ? "portals already ask through permd; nothing was changed" : "portals ask through permd"
        try options.report(done, outcome: outcome)
    }
}

struct DisablePortal: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Let portals ask with the desktop's own dialogs.",
        discussion: "Restores the files that permctl portal enable has changed, and removes those that it has created.")

    @OptionGroup var options: PortalOptions

    func run() throws {
        let done = try PortalSwitch.disable(restarts: !options.noRestart)
        if let portal = try? PortalSwitch(), portal.state.isPermd {
            if !done.isEmpty { Output.errorLines(done.joined(separator: "\n")) }
            let place: TerminalText = portal.state.path.map { "\($0) selects" } ?? "the name of the desktop selects"
            throw Failure(.no, "portals still ask through permd: \(place) it, which permctl has not written")
        }
        let outcome: TerminalText =
            done.isEmpty
            ? "permctl has not enabled permd for portals; nothing was changed"
            : "portals ask with the desktop's own dialogs"
        try options.report(done, outcome: outcome)
    }
}

struct PortalStatus: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show whether portals ask through permd.",
        discussion: "Exits with 1 if they do not.")

    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let portal = try PortalSwitch()
        if json { try Output.json(portal.record) } else { Output.line(portal.findings.joined(separator: "\n")) }
        if !portal.state.isPermd || !portal.findsBackend { throw Failure(.no) }
    }
}

extension PortalSwitch {
    /// Whether portals ask through permd, and why.
    var record: Record {
        let state = state
        return [
            "enabled": state.isPermd && findsBackend, "file": state.path ?? "", "managed": state.isOwn,
            "program": installation.program, "version": installation.version, "installed": findsBackend,
        ]
    }

    /// What decides and how, a line each.
    var findings: [TerminalText] {
        let state = state
        let how: TerminalText = usesFiles ? "portals.conf" : "the name of the desktop, as before version 1.17"
        let outcome: TerminalText =
            if !state.isPermd {
                "portals ask with the desktop's own dialogs"
            } else if findsBackend {
                "portals ask through permd"
            } else {
                "permd is selected, but permd.portal is missing in \(installation.backendFolders.last ?? "")"
            }
        let writer: TerminalText = state.isOwn ? ", written by permctl portal enable" : ""
        let file: [TerminalText] = state.path.map { ["  decided by  \($0)\(writer)"] } ?? []
        return [outcome] + file
            + ["  version     \(installation.version) of xdg-desktop-portal, which goes by \(how)"]
            + (state.isPermd ? [] : ["  to change   permctl portal enable"])
    }
}
