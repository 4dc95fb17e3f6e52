// The values that the store takes and returns.

import PermissionCore
import PermissionModel
import System

struct StorePaths: Sendable {
    /// The folder of the database, `$XDG_STATE_HOME/permd`.
    var state: String
    /// The folder of the session's file, `$XDG_RUNTIME_DIR/permd`; nil without a runtime folder.
    var session: String?

    var stateFile: String { state + "/permd.db" }
    var sessionFile: String? { session.map { $0 + "/session" } }

    /// The locations of the XDG Base Directory specification.
    static func standard() -> StorePaths {
        let state = Folders.path("XDG_STATE_HOME") ?? (Folders.path("HOME") ?? "") + "/.local/state"
        return StorePaths(state: state + "/permd", session: Folders.path("XDG_RUNTIME_DIR").map { $0 + "/permd" })
    }
}

/// The kernel's ID of this boot.
enum BootID {
    static func current() -> String {
        let text = try? RegularFile.read("/proc/sys/kernel/random/boot_id", maximum: 64)
        return String(decoding: (text ?? []).prefix { $0 > UInt8(ascii: " ") }, as: UTF8.self)
    }
}

/// Whether the store can be read and written. The reasons are sentences without a full stop.
enum StoreState: Sendable, Equatable {
    case writable
    /// Nothing can be written, and possibly nothing read. The next change tries again.
    case readOnly(why: String)
    case closed

    var why: String? {
        switch self {
        case .writable: nil
        case .readOnly(let why): why
        case .closed: "permd is stopping"
        }
    }
}

struct StoreError: Error, Sendable, CustomStringConvertible {
    let reason: String
    var description: String { reason }

    var ofRead: PermissionError { PermissionError(.storeUnavailable, "the store cannot be read: \(reason)") }
    var ofChange: PermissionError { PermissionError(.storeUnavailable, "nothing was changed: \(reason)") }
    var ofReset: PermissionError {
        let effect = "the decisions in memory were revoked, but may hold again after a restart of permd"
        return PermissionError(.storeUnavailable, "\(effect): \(reason)")
    }
}

/// A change of the decision about (app, permission); the verdict is nil after a reset or an end.
struct DecisionChange: Sendable, Hashable {
    var app: AppID
    var permission: Permission
    var verdict: Verdict?
}

/// What a daemon that starts goes on with, apart from decisions and rule files.
struct StoredState: Sendable {
    var dismissals: [DismissalRecord] = []
    var portalAnswers: [PortalAnswer] = []
}
