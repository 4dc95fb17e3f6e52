// permctl grant and permctl deny: set a decision for an app.

import ArgumentParser
import Glibc
import PermissionClient
import PermissionTexts

struct GrantVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "grant", abstract: "Grant a permission to an app.", aliases: ["allow"])

    @OptionGroup var decision: DecisionArguments
    @Flag(help: "Do not ask, on a terminal, whether a part of a name means the app.")
    var yes = false

    func run() async throws { try await decision.set(.grant, mayAsk: !yes) }
}

struct DenyVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deny", abstract: "Deny a permission to an app.")

    @OptionGroup var decision: DecisionArguments

    func run() async throws { try await decision.set(.deny) }
}

struct DecisionArguments: ParsableArguments {
    @Argument(
        help: "The app: an identity, the path of a program, or the name of an app that is installed.",
        completion: Completions.apps)
    var app: AppName
    @Argument(help: "The permission.")
    var permission: Permission
    @OptionGroup var time: DurationOptions
    @Flag(help: "Print JSON.")
    var json = false

    /// - Parameter mayAsk: Whether to ask, on a terminal, if only a part of the app's name was given.
    func set(_ verdict: Verdict, mayAsk: Bool = false) async throws {
        let settings = PermissionSettings()
        let name = self.app
        let named = try await name.resolve(settings)
        let app = named.followingLinks()
        if app != named {
            Output.errorLines("\(named) leads to \(app), which is the identity of the program when it runs")
        }
        if mayAsk, !name.isWhole(of: named) { try confirm(app) }
        if app.paths.count == 1, case .wrapper = ProgramFile(Array(app.paths[0].utf8)) {
            Output.complain("\(app) is a script: the program that it starts has an identity of its own, which counts")
        }
        let duration = try time.duration()
        try await settings.set(verdict, app: app.description, permission: permission, duration: duration)
        if verdict == .grant { try await warnOfRule(app, settings) }
        if json {
            let rows = try await settings.decisions(app: app.description, item: .permission(permission))
            return try Output.json(rows.filter { $0.decision != .pause }.map(DecisionRecord.init))
        }
        let word = verdict == .grant ? "granted" : "denied"
        Output.line("\(permission.rawValue) is \(word) to \(app): \(duration.text)")
        Output.line("to undo: permctl reset \(ShellWord.quoted("\(app)")) \(permission.rawValue)")
    }

    /// Asks for confirmation if stdin is a terminal; scripts are not asked.
    private func confirm(_ app: AppID) throws {
        guard isatty(STDIN_FILENO) == 1 else { return }
        Output.ask("“\(self.app.text)” is a part of \(app). Grant it \(permission.rawValue)? [y/N] ")
        guard ["y", "yes"].contains(readLine()?.lowercased() ?? "") else { throw Failure(.no, "nothing was granted") }
    }

    /// Says so if an administrator's rule forbids what was granted.
    private func warnOfRule(_ app: AppID, _ settings: PermissionSettings) async throws {
        let rows = try await settings.statuses(app: app.description, permission: permission)
        guard let row = rows.first, row.status == .restricted else { return }
        let rule: TerminalText = row.rule.map { "the administrator's rule \($0)" } ?? "an administrator's rule"
        Output.complain(
            """
            this does not help yet: \(rule) forbids it. The decision is kept, and takes effect if the rule is removed.
            """)
    }
}
