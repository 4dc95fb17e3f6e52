// The records that --json prints, one for each row. Keys are named as in the D-Bus contract.

import DesktopServices
import PermissionClient

/// Any value.
struct Encoded: Encodable {
    let value: any Encodable

    func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

/// A JSON object. What is not known is left out.
struct Record: Encodable, ExpressibleByDictionaryLiteral {
    private var values: [String: Encoded] = [:]

    init(dictionaryLiteral elements: (String, (any Encodable)?)...) {
        for case (let key, let value?) in elements { values[key] = Encoded(value: value) }
    }

    /// The record with more members.
    func with(_ more: Record) -> Record {
        var all = self
        all.values.merge(more.values) { $1 }
        return all
    }

    func encode(to encoder: any Encoder) throws { try values.encode(to: encoder) }
}

/// The record that `export` writes and `import` reads.
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
        permission = row.item.name
        decision = row.decision.rawValue
        duration = row.duration?.rawValue ?? ""
        until = row.until
        decided = row.decided
        by = row.by.rawValue
    }
}

extension PortalRow {
    var record: Record { ["app_id": appID, "table": table.rawValue, "entry": entry, "decision": verdict.rawValue] }
}

extension StatusRow {
    /// - Parameter used: when it was last used; now, while it is in use.
    func record(used: EpochSeconds? = nil) -> Record {
        [
            "app": app.description, "permission": permission.rawValue, "status": status.rawValue,
            "decision": decision?.decision.rawValue, "duration": decision?.duration?.rawValue,
            "until": decision?.until, "decided": decision?.decided, "by": decision?.by.rawValue, "rule": rule,
            "problem": problem.isEmpty ? nil : problem, "used": used,
        ]
    }
}

extension HistoryRow {
    var record: Record {
        [
            "time": time, "request": request, "app": app?.description ?? "", "permission": item.name,
            "outcome": outcome.rawValue, "by": by.rawValue, "count": count, "seconds": seconds,
            "status": status?.rawValue,
        ]
    }
}

extension QueuedRequest {
    var state: String { isShowing ? "showing" : "queued" }

    var record: Record {
        [
            "request": request, "app": app.description, "permissions": items.map(\.name), "state": state,
            "position": position, "since": since,
        ]
    }
}

extension Restriction {
    var record: Record {
        [
            "app": apps, "permissions": permissions.map(\.rawValue), "action": action.rawValue, "rule": rule,
            "file": file, "line": line,
        ]
    }
}

extension DeviceRow {
    var record: Record {
        [
            "permission": permission.rawValue, "id": id, "node": node, "name": name, "usable": isUsable,
            "problem": problem,
        ]
    }
}

extension UseRow {
    var record: Record {
        [
            "use": use, "app": app?.description ?? "", "app_name": appName, "pid": pid,
            "permission": permission.rawValue, "device": device, "device_name": deviceName, "since": since,
            "status": status.rawValue, "source": source, "cut": isCut,
        ]
    }
}
