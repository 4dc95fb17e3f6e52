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

    init(_ row: StatusRow) {
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

    init(_ row: HistoryRow) {
        time = row.time
        request = row.request
        app = row.app.description
        permission = row.question.name
        outcome = row.outcome.rawValue
        by = row.by.rawValue
        count = row.count
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
