// The exit statuses, from sysexits.h where it has a suitable one.

import PermissionClient

enum ExitReason: Int32 {
    case success = 0
    /// Refused or dismissed, nothing matched, or the doctor found a problem.
    case no = 1
    /// EX_USAGE, also for an ambiguous app.
    case usage = 64
    /// EX_DATAERR: a file that cannot be imported.
    case data = 65
    /// EX_UNAVAILABLE: no bus, no daemon, or its name belongs to an untrusted program.
    case unavailable = 69
    /// EX_IOERR: the output cannot be written.
    case output = 74
    /// EX_TEMPFAIL: the error is temporary, as the daemon reports it.
    case retry = 75
    /// EX_NOPERM
    case notAllowed = 77

    init(_ error: ClientError) {
        switch error.kind {
        case .noBus, .noDaemon, .untrustedOwner: self = .unavailable
        case .daemon(.accessDenied): self = .notAllowed
        case .daemon(.invalidArguments): self = .usage
        default: self = error.isRetryable ? .retry : .no
        }
    }
}

/// Ends the program with a message and an exit status.
struct Failure: Error {
    let status: ExitReason
    /// Empty when the output already says everything.
    let message: TerminalText

    init(_ status: ExitReason, _ message: TerminalText = "") {
        self.status = status
        self.message = message
    }
}
