// The status of each app's permissions and the reason for it: the rows of `permctl status`.

import DBus
import PermissionCore
import PermissionModel
import System

extension PolicyInterface {
    /// The rows of all apps with decisions or pauses, or of the app in the filter, which need not have any.
    func statusRows(_ filter: RowFilter) -> Listings.Slice {
        appSlices(filter) { range throws(PermissionError) in
            let decisions = try decisions(filter, range)
            let pauses = pauses(filter, range)
            let apps = filter.app.map { [$0] } ?? Set(decisions.map(\.app) + pauses.map(\.app)).sorted()
            let permissions = Permission.allCases.filter { [nil, .permission($0)].contains(filter.question) }
            let decided = Dictionary(grouping: decisions, by: \.app)
            // For one app only: the name is read from its desktop entry.
            let name = filter.app.map { SafeText.title(AppDirectory.entry(for: $0).name) }
            return apps.flatMap { app in
                permissions.map { permission in
                    var row = row(
                        app, permission, decided[app, default: []].filter { $0.permission == permission },
                        pauses.first { $0.app == app && $0.question == .permission(permission) })
                    row["app_name"] = name.map { .string($0) }
                    return row
                }
            }
        }
    }

    /// - Parameter decisions: The decision for the app, if there is one, and those for its processes (`once`).
    private func row(
        _ app: AppID, _ permission: Permission, _ decisions: [Decision], _ pause: Pause?
    ) -> [String: Value] {
        let decision = decisions.first { $0.process == nil } ?? decisions.first
        let restriction = policy.rule(.restrict, app, permission)
        let permit = policy.rule(.grant, app, permission)
        let status = PermissionCore.status(
            restricted: restriction != nil, decision: decision?.verdict, allowedByRule: permit != nil,
            isUsable: devices.isUsable(permission))
        var result: [String: Value] = [:]
        if let pause { result = row(pause) }
        if let decision { result = row(decision) }
        result["app"] = .string(app.description)
        result["permission"] = .string(permission.rawValue)
        result["status"] = .string(status.rawValue)
        if let rule = restriction ?? (decision == nil ? permit : nil) {
            result["rule"] = .string(rule.name)
            result["file"] = .string(rule.file)
            result["line"] = .uint32(UInt32(clamping: rule.line))
        }
        if status == .unavailable {
            let problem = devices.defaultDevice(permission)?.problem ?? ""
            result["problem"] = .string(problem.isEmpty ? "no \(permission.rawValue) device was found" : problem)
        }
        return result
    }
}
