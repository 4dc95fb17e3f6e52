// The records that --json prints, one for each row. Keys are named as in the D-Bus contract.

import PermissionClient

struct StatusRecord: Encodable {
    let app: String
    let permission: String
    let status: String
    let decision: String?
    let duration: String?
    let until: EpochSeconds?
    let decided: EpochSeconds?
    let by: String?
    let rule: String?
    let problem: String?
    /// When it was last used; now, while it is in use.
    let used: EpochSeconds?

    init(_ row: StatusRow, used: EpochSeconds? = nil) {
        self.used = used
        app = row.app.description
        permission = row.permission.rawValue
        status = row.status.rawValue
        decision = row.decision?.decision.rawValue
        duration = row.decision?.duration?.rawValue
        until = row.decision?.until
        decided = row.decision?.decided
        by = row.decision?.by.rawValue
        rule = row.rule
        problem = row.problem.isEmpty ? nil : row.problem
    }
}

/// Also the record that `export` writes and `import` reads.
struct DecisionRecord: Codable, Hashable {
    var app: String
    var permission: String
    var decision: String
    var duration: String
    var until: EpochSeconds?
    var decided: EpochSeconds?
    var by: String?

    init(_ row: DecisionRow) {
        app = row.app.description
        permission = row.question.name
        decision = row.decision.rawValue
        duration = row.duration?.rawValue ?? ""
        until = row.until
        decided = row.decided
        by = row.by.rawValue
    }
}

struct HistoryRecord: Encodable {
    let time: EpochSeconds
    let request: String
    let app: String
    let permission: String
    let outcome: String
    let by: String
    let count: UInt32
    let seconds: UInt32?
    let status: String?

    init(_ row: HistoryRow) {
        time = row.time
        request = row.request
        app = row.app.description
        permission = row.question.name
        outcome = row.outcome.rawValue
        by = row.by.rawValue
        count = row.count
        seconds = row.seconds
        status = row.status?.rawValue
    }
}

struct RequestRecord: Encodable, Hashable {
    let request: String
    let app: String
    let permissions: [String]
    let state: String
    let position: Int
    let since: EpochSeconds

    init(_ row: QueuedRequest) {
        request = row.request
        app = row.app.description
        permissions = row.questions.map(\.name)
        state = row.isShowing ? "showing" : "queued"
        position = row.position
        since = row.since
    }
}

struct RestrictionRecord: Encodable {
    let app: String
    let permissions: [String]
    let action: String
    let rule: String
    let file: String
    let line: Int

    init(_ row: Restriction) {
        app = row.apps
        permissions = row.permissions.map(\.rawValue)
        action = row.action.rawValue
        rule = row.rule
        file = row.file
        line = row.line
    }
}

struct DeviceRecord: Encodable {
    let permission: String
    let id: String
    let node: String
    let name: String
    let usable: Bool
    let problem: String

    init(_ row: DeviceRow) {
        permission = row.permission.rawValue
        id = row.id
        node = row.node
        name = row.name
        usable = row.isUsable
        problem = row.problem
    }
}

struct UseRecord: Encodable {
    let use: UInt32
    let app: String
    let appName: String
    let pid: Int32
    let permission: String
    let device: String
    let deviceName: String
    let since: EpochSeconds
    let status: String
    let source: String

    enum CodingKeys: String, CodingKey {
        case use, app, pid, permission, device, since, status, source
        case appName = "app_name"
        case deviceName = "device_name"
    }

    init(_ row: UseRow) {
        use = row.use
        app = row.app?.description ?? ""
        appName = row.appName
        pid = row.pid
        permission = row.permission.rawValue
        device = row.device
        deviceName = row.deviceName
        since = row.since
        status = row.status.rawValue
        source = row.source
    }
}
