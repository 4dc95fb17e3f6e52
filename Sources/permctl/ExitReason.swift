// The exit statuses, sysexits.h where it has one.

import PermissionClient

enum ExitReason: Int32 {
    case success = 0
    /// Refused, nothing matched, or the doctor found something.
    case no = 1
    /// EX_USAGE; an ambiguous app too.
    case usage = 64
    /// EX_DATAERR: a file that cannot be imported.
    case data = 65
    /// EX_UNAVAILABLE: no bus or no daemon.
    case unavailable = 69
    /// EX_TEMPFAIL: the daemon says that trying again helps.
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

/// Ends the program with a sentence and a status.
struct Failure: Error {
    let status: ExitReason
    /// Empty when everything is said.
    let message: TerminalText

    init(_ status: ExitReason, _ message: TerminalText = "") {
        self.status = status
        self.message = message
    }
}
