// The rows of the lists for settings programs. Their keys are documented in dbus/*.xml.

import DBus
public import PermissionModel

/// A decision or a pause of the dismissal throttle: a row of org.permd.Policy1.ListDecisions.
public struct DecisionRow: Sendable, Hashable {
    /// The value of the key `decision`.
    public enum Kind: String, Sendable, Hashable {
        case grant, deny
        /// Not a decision: requests are dismissed without a prompt, because the user chose Not now too often.
        case pause
        /// A value that this version does not know, from a newer daemon.
        case unknown
    }

    /// The app.
    public let app: AppID
    /// A permission, or for a pause also a question that only portals ask.
    public let item: PromptItem
    /// What was decided.
    public let decision: Kind
    /// How long it is in force; nil for a pause, and for a value that this version does not know.
    public let duration: Duration.Kind?
    /// When the decision or the pause ends; nil if it has no fixed end.
    public let until: EpochSeconds?
    /// When the decision was made, or when the pause began.
    public let decided: EpochSeconds
    /// Who made the decision.
    public let by: Author

    init?(_ row: [String: Value]) {
        guard let app = row.app, let item = row.item, let decision = row["decision"]?.stringValue else {
            return nil
        }
        self.app = app
        self.item = item
        self.decision = Kind(rawValue: decision) ?? .unknown
        duration = row["duration"]?.stringValue.flatMap(Duration.Kind.init(rawValue:))
        until = row.seconds("until")
        decided = row.seconds("decided") ?? 0
        by = row["by"]?.stringValue.flatMap(Author.init(rawValue:)) ?? .nobody
    }
}

/// The status of a permission for an app, with the reason: a row of org.permd.Policy1.ListStatuses.
public struct StatusRow: Sendable, Hashable {
    /// The app.
    public let app: AppID
    /// The permission.
    public let permission: Permission
    /// The status. A decision with the duration `once` is about one process or instance of a sandbox.
    public let status: Status
    /// The decision or pause; nil if there is none.
    public let decision: DecisionRow?
    /// The administrator's rule that decides, as `NAME (FILE:LINE)`; nil if none does.
    public let rule: String?
    /// Why no device is usable; empty if one is.
    public let problem: String
    /// The app's name, for the user; empty in the list of all apps.
    public let appName: String

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
        appName = row["app_name"]?.stringValue ?? ""
    }
}

extension HistoryRow {
    init?(_ row: [String: Value]) {
        guard let item = row.item, let time = row.seconds("time"), let outcome = row["outcome"]?.stringValue,
            row.app != nil || row["app"] == .string("")
        else { return nil }
        self.init(
            time: time, request: row["request"]?.stringValue ?? "", app: row.app, item: item,
            outcome: Outcome(rawValue: outcome) ?? .unknown,
            by: row["by"]?.stringValue.flatMap(Author.init(rawValue:)) ?? .nobody,
            count: row["count"]?.uint32Value ?? 1, seconds: row["seconds"]?.uint32Value,
            status: row["status"]?.stringValue.flatMap(Status.init(rawValue:)))
    }
}

/// A request that is not answered yet: a row of org.permd.Policy1.ListRequests.
public struct QueuedRequest: Sendable, Hashable {
    /// The object path.
    public let request: String
    /// The app.
    public let app: AppID
    /// The questions, in the order of the request.
    public let items: [PromptItem]
    /// Whether its prompt is on screen.
    public let isShowing: Bool
    /// The number of requests ahead, including the one on screen.
    public let position: Int
    /// When it arrived.
    public let since: EpochSeconds

    init?(_ row: [String: Value]) {
        guard let request = row["request"]?.stringValue ?? row["request"]?.objectPathValue, let app = row.app,
            let state = row["state"]?.stringValue
        else { return nil }
        self.request = request
        self.app = app
        items = (row["permissions"]?.strings ?? []).compactMap(PromptItem.init(name:))
        isShowing = state == "showing"
        position = Int(row["position"]?.uint32Value ?? 0)
        since = row.seconds("since") ?? 0
    }
}

/// A rule of an administrator: a row of org.permd.Policy1.ListRestrictions. See permd.policy(5).
public struct Restriction: Sendable, Hashable {
    /// What the rule does.
    public enum Action: String, Sendable, Hashable {
        case restrict, grant
        /// A value that this version does not know, from a newer daemon.
        case unknown
    }

    /// The apps: shell patterns, separated by spaces. `*` matches every app.
    public let apps: String
    /// The permissions.
    public let permissions: [Permission]
    /// What the rule does.
    public let action: Action
    /// The name of the rule.
    public let rule: String
    /// The path of its file.
    public let file: String
    /// The line of its section.
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

/// An app that uses a device now: a row of org.permd.Usage1.ListUses.
public struct UseRow: Sendable, Hashable {
    /// The number of the use.
    public let use: UInt32
    /// The app; nil for a program that cannot be identified, such as one of another user.
    public let app: AppID?
    /// The app's name, for the user; may be empty.
    public let appName: String
    /// The process with which the use began; 0 if it is not known.
    public let pid: Int32
    /// The permission that apps need for the device.
    public let permission: Permission
    /// The ID of the device, as in ``DeviceRow``; may be empty.
    public let device: String
    /// The name of the device, for the user.
    public let deviceName: String
    /// When the use began.
    public let since: EpochSeconds
    /// The app's status when the use began.
    public let status: Status
    /// How it is known: `device` (the node is open), `capture` (ALSA records), or the name of an enforcement point.
    public let source: String
    /// Whether it ends when the permission is denied, because something that stands between the app and the device cuts
    /// it off. Otherwise the program holds the device itself, and only its end ends the use.
    public let isCut: Bool

    init?(_ row: [String: Value]) {
        guard let use = row["use"]?.uint32Value, let permission = row.permission,
            let status = row["status"]?.stringValue.flatMap(Status.init(rawValue:))
        else { return nil }
        self.use = use
        app = row.app
        appName = row["app_name"]?.stringValue ?? ""
        pid = Int32(clamping: row["pid"]?.uint32Value ?? 0)
        self.permission = permission
        device = row["device"]?.stringValue ?? ""
        deviceName = row["device_name"]?.stringValue ?? ""
        since = row.seconds("since") ?? 0
        self.status = status
        source = row["source"]?.stringValue ?? ""
        isCut = row["cut"]?.boolValue ?? false
    }

    /// How long a refusal is in force that a user makes to stop a use. A reset would not stop it: an enforcement point
    /// would ask the user again at once, or let a program outside a sandbox pass.
    public static let refusalWhenStopped = Duration.session
}

/// A device: a row of org.permd.Devices1.ListDevices.
public struct DeviceRow: Sendable, Hashable {
    /// The permission that apps need for it.
    public let permission: Permission
    /// The ID, which is the same after re-plugging.
    public let id: String
    /// The path of its node; may be empty.
    public let node: String
    /// The name, for the user.
    public let name: String
    /// Whether it is usable.
    public let isUsable: Bool
    /// Why it is not usable; of a usable one, why it shows nothing, as a camera that is covered by its shutter. Empty if
    /// neither.
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

/// A registered agent: a row of org.permd.AgentManager1.ListAgents.
public struct AgentRow: Sendable, Hashable {
    /// The object path.
    public let agent: String
    /// The unique name of its connection.
    public let owner: String
    /// The level.
    public let level: AgentLevel
    /// The number of consecutive failed prompts.
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

/// A connected enforcement point: a row of org.permd.Enforcement1.ListPoints.
public struct PointStatus: Sendable, Hashable {
    /// The unique name of its connection.
    public let owner: String
    /// The program.
    public let app: AppID

    init?(_ row: [String: Value]) {
        guard let app = row.app else { return nil }
        owner = row["owner"]?.stringValue ?? ""
        self.app = app
    }
}

/// A problem that the daemon has found: a row of org.permd.Policy1.ListProblems.
public struct Problem: Sendable, Hashable {
    /// What it concerns: `store`, `policy`, `settings`, `devices`, `usage`, `guard` or `agent`.
    public let about: String
    /// The kind of problem, in a word that does not change.
    public let code: String
    /// The path of the file; empty if it concerns none.
    public let file: String
    /// The line in the file; 0 if it concerns none.
    public let line: Int
    /// What is wrong.
    public let problem: String
    /// What to do about it.
    public let advice: String

    init?(_ row: [String: Value]) {
        guard let problem = row["problem"]?.stringValue else { return nil }
        self.problem = problem
        about = row["about"]?.stringValue ?? ""
        code = row["code"]?.stringValue ?? about
        file = row["file"]?.stringValue ?? ""
        line = Int(row["line"]?.uint32Value ?? 0)
        advice = row["advice"]?.stringValue ?? ""
    }
}

extension [String: Value] {
    fileprivate var app: AppID? { self["app"]?.stringValue.flatMap(AppID.init) }

    fileprivate var permission: Permission? { self["permission"]?.stringValue.flatMap(Permission.init(rawValue:)) }

    fileprivate var item: PromptItem? { self["permission"]?.stringValue.flatMap(PromptItem.init(name:)) }

    fileprivate var permissions: [Permission] {
        (self["permissions"]?.strings ?? []).compactMap(Permission.init(rawValue:))
    }

    fileprivate func seconds(_ key: String) -> EpochSeconds? {
        self[key]?.uint64Value.map { EpochSeconds(clamping: $0) }
    }
}
