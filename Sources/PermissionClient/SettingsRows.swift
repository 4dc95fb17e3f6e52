// The rows of what settings programs look at, as the contract's tables name their keys.

import DBus
public import PermissionModel

/// A decision, or the pause after dismissals.
public struct DecisionRow: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable {
        case grant, deny
        /// Requests are dismissed unseen until then: the app was put off too often.
        case pause
        /// A newer daemon has a word for it.
        case unknown
    }

    public let app: AppID
    /// A decision is about a permission; a pause may be about a question of portals.
    public let question: Question
    public let decision: Kind
    /// nil for a pause, and for a word of a newer daemon.
    public let duration: Duration.Word?
    /// Seconds since the epoch; nil when it has no fixed end.
    public let until: EpochSeconds?
    public let decided: EpochSeconds
    public let by: Author

    init?(_ row: [String: Value]) {
        guard let app = row.app, let question = row.question, let decision = row["decision"]?.stringValue else {
            return nil
        }
        self.app = app
        self.question = question
        self.decision = Kind(rawValue: decision) ?? .unknown
        duration = row["duration"]?.stringValue.flatMap(Duration.Word.init(rawValue:))
        until = row.seconds("until")
        decided = row.seconds("decided") ?? 0
        by = row["by"]?.stringValue.flatMap(Author.init(rawValue:)) ?? .nobody
    }
}

/// What (app, permission) comes to, and why.
public struct StatusRow: Sendable, Hashable {
    public let app: AppID
    public let permission: Permission
    public let status: Status
    /// The decision or pause; nil when there is none.
    public let decision: DecisionRow?
    /// `NAME (FILE:LINE)` of the administrator's rule that settles it; nil when none does.
    public let rule: String?
    /// Why no device is usable; empty when one is.
    public let problem: String

    init?(_ row: [String: Value]) {
        guard let app = row.app, let permission = row.permission,
            let status = row["status"]?.stringValue.flatMap(Status.init(rawValue:))
        else { return nil }
        self.app = app
        self.permission = permission
        self.status = status
        decision = DecisionRow(row)
        rule = row["rule"]?.stringValue.map {
            "\($0) (\(row["file"]?.stringValue ?? ""):\(row["line"]?.uint32Value ?? 0))"
        }
        problem = row["problem"]?.stringValue ?? ""
    }
}

extension HistoryRow {
    init?(_ row: [String: Value]) {
        guard let app = row.app, let question = row.question, let time = row.seconds("time"),
            let outcome = row["outcome"]?.stringValue
        else { return nil }
        self.init(
            time: time, request: row["request"]?.stringValue ?? "", app: app, question: question,
            outcome: Outcome(rawValue: outcome) ?? .unknown,
            by: row["by"]?.stringValue.flatMap(Author.init(rawValue:)) ?? .nobody,
            count: row["count"]?.uint32Value ?? 1)
    }
}

/// A request that is not answered yet.
public struct QueuedRequest: Sendable, Hashable {
    /// Its object path.
    public let request: String
    public let app: AppID
    public let questions: [Question]
    public let isShowing: Bool
    /// How many are ahead, the one on screen included.
    public let position: Int
    /// Seconds since the epoch.
    public let since: EpochSeconds

    init?(_ row: [String: Value]) {
        guard let request = row["request"]?.stringValue ?? row["request"]?.objectPathValue, let app = row.app,
            let state = row["state"]?.stringValue
        else { return nil }
        self.request = request
        self.app = app
        questions = (row["permissions"]?.strings ?? []).compactMap(Question.init(name:))
        isShowing = state == "showing"
        position = Int(row["position"]?.uint32Value ?? 0)
        since = row.seconds("since") ?? 0
    }
}

/// An administrator's rule.
public struct Restriction: Sendable, Hashable {
    public enum Action: String, Sendable, Hashable {
        case restrict, grant
        /// A newer daemon has a word for it.
        case unknown
    }

    /// Shell patterns, separated by spaces; `*` is every app.
    public let apps: String
    public let permissions: [Permission]
    public let action: Action
    public let rule: String
    public let file: String
    /// Of its section.
    public let line: Int

    init?(_ row: [String: Value]) {
        guard let apps = row["app"]?.stringValue, let action = row["action"]?.stringValue else { return nil }
        self.apps = apps
        permissions = row.permissions
        self.action = Action(rawValue: action) ?? .unknown
        rule = row["rule"]?.stringValue ?? ""
        file = row["file"]?.stringValue ?? ""
        line = Int(row["line"]?.uint32Value ?? 0)
    }
}

/// A device behind a permission.
public struct DeviceRow: Sendable, Hashable {
    public let permission: Permission
    /// Stable over re-plugging.
    public let id: String
    /// A path, or empty.
    public let node: String
    public let name: String
    public let isUsable: Bool
    /// Why not; empty when it is usable.
    public let problem: String

    init?(_ row: [String: Value]) {
        guard let permission = row.permission, let id = row["id"]?.stringValue else { return nil }
        self.permission = permission
        self.id = id
        node = row["node"]?.stringValue ?? ""
        name = row["name"]?.stringValue ?? ""
        isUsable = row["usable"]?.boolValue ?? false
        problem = row["problem"]?.stringValue ?? ""
    }
}

/// A registered agent.
public struct AgentRow: Sendable, Hashable {
    /// Its object path.
    public let agent: String
    /// The unique name it registered from.
    public let owner: String
    public let level: AgentLevel
    /// Failed prompts in a row.
    public let failures: Int

    init?(_ row: [String: Value]) {
        guard let agent = row["agent"]?.objectPathValue ?? row["agent"]?.stringValue,
            let level = row["level"]?.stringValue.flatMap(AgentLevel.init(rawValue:))
        else { return nil }
        self.agent = agent
        owner = row["owner"]?.stringValue ?? ""
        self.level = level
        failures = Int(row["failures"]?.uint32Value ?? 0)
    }
}

/// Something that is wrong with the daemon's surroundings.
public struct Problem: Sendable, Hashable {
    /// `store`, `policy`, `settings` or `devices`.
    public let about: String
    /// Empty when it is about no file.
    public let file: String
    /// 0 when it is about no line.
    public let line: Int
    public let problem: String
    /// What to do.
    public let advice: String

    init?(_ row: [String: Value]) {
        guard let problem = row["problem"]?.stringValue else { return nil }
        self.problem = problem
        about = row["about"]?.stringValue ?? ""
        file = row["file"]?.stringValue ?? ""
        line = Int(row["line"]?.uint32Value ?? 0)
        advice = row["advice"]?.stringValue ?? ""
    }
}

extension [String: Value] {
    fileprivate var app: AppID? { self["app"]?.stringValue.flatMap(AppID.init) }

    fileprivate var permission: Permission? { self["permission"]?.stringValue.flatMap(Permission.init(rawValue:)) }

    fileprivate var question: Question? { self["permission"]?.stringValue.flatMap(Question.init(name:)) }

    fileprivate var permissions: [Permission] {
        (self["permissions"]?.strings ?? []).compactMap(Permission.init(rawValue:))
    }

    fileprivate func seconds(_ key: String) -> EpochSeconds? {
        self[key]?.uint64Value.map { EpochSeconds(clamping: $0) }
    }
}
