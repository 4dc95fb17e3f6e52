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
struct PortalChange: ParsableArguments {
    @Flag(help: "Do not restart xdg-desktop-portal; the change takes effect at the next login.")
    var noRestart = false
    @Flag(help: "Print JSON.")
    var json = false

    /// Prints what was done and then the outcome; as JSON the state afterwards.
    func report(_ done: [TerminalText], outcome: TerminalText) throws {
        guard !json else { return try Output.json(PortalRecord(try PortalSwitch())) }
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

    @OptionGroup var change: PortalChange

    func run() throws {
        let done = try PortalSwitch().enable(restarts: !change.noRestart)
        let outcome: TerminalText =
            done.isEmpty ? "portals already ask through permd; nothing was changed" : "portals ask through permd"
        try change.report(done, outcome: outcome)
    }
}

struct DisablePortal: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable", abstract: "Let portals ask with the desktop's own dialogs.",
        discussion: "Restores the files that permctl portal enable has changed, and removes those that it has created.")

    @OptionGroup var change: PortalChange

    func run() throws {
        let done = try PortalSwitch.disable(restarts: !change.noRestart)
        if let portal = try? PortalSwitch(), portal.state.isPermd {
            if !done.isEmpty { Output.note(done.joined(separator: "\n")) }
            let place: TerminalText = portal.state.path.map { "\($0) selects" } ?? "the name of the desktop selects"
            throw Failure(.no, "portals still ask through permd: \(place) it, which permctl has not written")
        }
        let outcome: TerminalText =
            done.isEmpty
            ? "permctl has not enabled permd for portals; nothing was changed"
            : "portals ask with the desktop's own dialogs"
        try change.report(done, outcome: outcome)
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
        let record = PortalRecord(portal)
        if json { try Output.json(record) } else { Output.line(portal.findings.joined(separator: "\n")) }
        if !record.enabled { throw Failure(.no) }
    }
}

struct PortalRecord: Encodable {
    /// Whether portals ask through permd.
    let enabled: Bool
    /// The file that decides; empty if none does.
    let file: String
    /// Whether permctl has written it.
    let managed: Bool
    let program: String
    let version: String
    /// Whether permd.portal is where xdg-desktop-portal looks for it.
    let installed: Bool

    init(_ portal: PortalSwitch) {
        let state = portal.state
        installed = portal.findsBackend
        enabled = state.isPermd && installed
        file = state.path ?? ""
        managed = state.isOwn
        program = portal.installation.program
        version = portal.installation.version.description
    }
}

extension PortalSwitch {
    /// What decides and how, a line each.
    var findings: [TerminalText] {
        let state = state
        var lines: [TerminalText] = []
        switch (state.isPermd, findsBackend) {
        case (true, true): lines.append("portals ask through permd")
        case (true, false):
            lines.append("permd is selected, but permd.portal is missing in \(installation.backendFolders.last ?? "")")
        case (false, _): lines.append("portals ask with the desktop's own dialogs")
        }
        let writer: TerminalText = state.isOwn ? ", written by permctl portal enable" : ""
        if let path = state.path { lines.append("  decided by  \(path)\(writer)") }
        let how: TerminalText = usesFiles ? "portals.conf" : "the name of the desktop, as before version 1.17"
        lines.append("  version     \(installation.version) of xdg-desktop-portal, which goes by \(how)")
        if !state.isPermd { lines.append("  to change   permctl portal enable") }
        return lines
    }
}
