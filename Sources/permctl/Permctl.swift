// The command line of permctl.

import ArgumentParser
import DBus
import Glibc
import PermissionClient
import System

struct Permctl: AsyncParsableCommand {
    static let version = ProgramOptions.version

    private static let permissions = Permission.allCases.map(\.rawValue).joined(separator: ", ")

    static let configuration = CommandConfiguration(
        commandName: "permctl",
        abstract: "Look at and change what apps may use: \(permissions).",
        discussion: """
            APP is an identity as `permctl status` shows it (flatpak:ID, snap:NAME, exe:/path), or a part \
            after its prefix that only one app matches.

            Exit status: 0 success; 1 refused, dismissed, no row for the given app, permission, outcome or time, or a \
            problem found by doctor or check; 64 wrong usage; 65 a file that cannot be imported; 69 no session bus or \
            no permd; 74 the output cannot be written; 75 try again later; 77 not allowed.
            """,
        version: "permctl \(version)",
        subcommands: [
            StatusVerb.self, GrantVerb.self, DenyVerb.self, ResetVerb.self, OffVerb.self, OnVerb.self, RequestVerb.self,
            QueueVerb.self, DevicesVerb.self, RestrictionsVerb.self, HistoryVerb.self, SummaryVerb.self, InUseVerb.self,
            MonitorVerb.self, AgentVerb.self, SetupVerb.self, DoctorVerb.self, CheckVerb.self, PortalVerb.self,
            ExportVerb.self, ImportVerb.self,
        ])

    /// Runs the command that the arguments are, and exits with its status. Everything runs on the calling thread.
    static func start() -> Never {
        Loop.shared.adoptCurrentThread()
        Task(executorPreference: Loop.shared) {
            do {
                if let failure = UsageErrors.unknownVerb(Array(CommandLine.arguments.dropFirst())) { throw failure }
                var command = try await asyncParseAsRoot()
                if var asynchronous = command as? any AsyncParsableCommand {
                    try await asynchronous.run()
                } else {
                    try command.run()
                }
                Glibc.exit(0)
            } catch {
                leave(error)
            }
        }
        Loop.shared.run()
        // The loop is never stopped.
        Glibc.exit(EX_SOFTWARE)
    }

    /// Prints the error to stderr and exits with its status.
    private static func leave(_ error: any Error) -> Never {
        switch error {
        case let failure as Failure:
            if !failure.message.isEmpty { Output.complain(failure.message) }
            Glibc.exit(failure.status.rawValue)
        case let error as ClientError:
            Output.complain("\(error.message)")
            Glibc.exit(ExitReason(error).rawValue)
        default:
            // Help, or a usage error, which may quote the command line.
            let code = exitCode(for: error)
            let full = fullMessage(for: error)
            if code.isSuccess {
                Output.verbatim(TerminalText(lines: full))
            } else {
                Output.errorLines(UsageErrors.text(message(for: error), full: full))
            }
            Glibc.exit(code.rawValue)
        }
    }
}
