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
    let kind: ErrorKind
    let reason: String

    init(_ kind: ErrorKind = .storeUnavailable, reason: String) { (self.kind, self.reason) = (kind, reason) }

    /// There is no room for a decision that replaces no other.
    static func full(_ maximum: Int) -> StoreError {
        StoreError(.limitExceeded, reason: "\(maximum) decisions are stored, and there is room for no more")
    }

    var description: String { reason }

    var ofRead: PermissionError { PermissionError(kind, "the store cannot be read: \(reason)") }
    var ofChange: PermissionError { PermissionError(kind, "nothing was changed: \(reason)") }
    var ofReset: PermissionError {
        let effect = "the decisions in memory were revoked, but may hold again after a restart of permd"
        return PermissionError(kind, "\(effect): \(reason)")
    }
}

/// Selects decisions and pauses by app and question, where nil matches all. About a portal's question there are only
/// pauses.
struct DecisionFilter: Sendable, Hashable {
    var app: AppID?
    var item: PromptItem?

    func matches(_ decision: Decision) -> Bool {
        (app == nil || app == decision.app) && (item == nil || item == .permission(decision.permission))
    }
}

/// The part of a list that `limit` and `offset` select.
struct RowPage: Sendable {
    /// The most rows of a reply (org.permd.Policy1): a list neither delays others nor fills the memory.
    static let maximum = 1024

    let limit: Int
    let offset: Int

    /// - Parameter limit: 0 means the maximum.
    init(limit: Int = 0, offset: Int = 0) {
        self.limit = limit == 0 ? RowPage.maximum : min(limit, RowPage.maximum)
        self.offset = offset
    }

    /// The places of its rows in a list with that many.
    func places(in count: Int) -> Range<Int> { min(offset, count)..<min(offset + limit, count) }
}

/// A change of the decision about (app, permission); the verdict is nil after a reset or an end.
struct DecisionChange: Sendable, Hashable {
    var app: AppID
    var permission: Permission
    var verdict: Verdict?
}

/// What the store reports of a change that somebody asked for, in one event: that it is complete, and what is different
/// now.
struct StoreReport: Sendable {
    let changes: [DecisionChange]
    /// Why it is not on disk, if it is not. There may be changes nevertheless, in memory.
    let error: StoreError?

    init(made: [Decision] = [], gone: [Decision] = [], error: StoreError? = nil) {
        changes =
            made.map { DecisionChange(app: $0.app, permission: $0.permission, verdict: $0.verdict) }
            + gone.map { DecisionChange(app: $0.app, permission: $0.permission, verdict: nil) }
        self.error = error
    }
}

/// What is different without anybody having asked for it.
enum StoreChange: Sendable {
    /// Decisions have ended.
    case ended([DecisionChange])
    /// The file was read: any decision may be another than before, and these switches are.
    case read(switches: Set<Permission>)
}

/// The facts in the file.
struct StoredFacts: Sendable {
    var decisions: [Decision] = []
    /// The permissions that are switched off.
    var off: Set<Permission> = []
    var lastUses: [LastUse] = []
}

/// What a daemon that starts goes on with, apart from facts and rule files.
struct StoredState: Sendable {
    var dismissals: [DismissalRecord] = []
    var portalVerdicts: [PortalVerdict] = []
}

/// An answer that a portal was given and may have stored, with the app that it was last requested for.
struct PortalVerdict: Sendable, Hashable {
    var key: PortalKey
    var app: AppID
    var verdict: Verdict
}
