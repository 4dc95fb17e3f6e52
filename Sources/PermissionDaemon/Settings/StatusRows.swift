// The status of each app's permissions and the reason for it: the rows of `permctl status`.

import DBus
import PermissionCore
import PermissionModel
import PolicyFiles
import System

extension PolicyInterface {
    /// The rows of all apps with decisions or pauses, or of the app in the filter, which need not have any.
    func statusRows(_ filter: RowFilter, _ done: @escaping ListQueue.Completion) {
        let permissions = Permission.allCases.filter { [nil, .permission($0)].contains(filter.question) }
        guard !permissions.isEmpty else { return done(.success([])) }
        let pauses = calls.pauses(app: filter.app, question: filter.question)
        let unwritten = unwrittenDecisions(filter)
        let others = Set(filter.app.map { [$0] } ?? pauses.map(\.app) + unwritten.map(\.app))
        // Each app has a row for each permission.
        let (offset, end) = (filter.page.offset, filter.page.offset + filter.page.limit)
        let first = offset / permissions.count
        let page = RowPage(limit: (end - 1) / permissions.count - first + 1, offset: first)
        // For one app only: the name is read from its desktop entry.
        AppDirectory.entries(of: Set(filter.app.map { [$0] } ?? []), by: worker) { [self] names in
            store.listApps(filter.decisions, page, and: others) { result in
                let rows = result.mapError(\.ofRead).map { apps in
                    apps.flatMap { app, stored in
                        permissions.map { permission in
                            var row = row(
                                app, permission,
                                (stored + unwritten).filter { $0.app == app && $0.permission == permission },
                                pauses.first { $0.app == app && $0.question == .permission(permission) })
                            row["app_name"] = names[app].map { .string(SafeText.name($0.name)) }
                            return row
                        }
                    }
                }
                done(rows.map { Array($0.dropFirst(offset - first * permissions.count).prefix(filter.page.limit)) })
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
            restricted: restriction != nil, isOff: store.switches.isOff(permission), decision: decision?.verdict,
            allowedByRule: permit != nil, isUsable: devices.isUsable(permission))
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
