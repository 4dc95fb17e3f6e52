// The status of each app's permissions and the reason for it: the rows of `permctl status`.

import DBus
import PermissionCore
import PermissionModel
import PolicyFiles
import System

extension SettingsInterface {
    /// Replies with the rows of all apps with decisions or pauses, or of the app in the filter, which need not have any.
    func replyStatuses(_ call: MethodCall, _ filter: RowFilter) throws(PermissionError) {
        guard let app = filter.app else { return call.reply(.rows(try statusRows(filter))) }
        // For one app only: the name is read from its desktop entry.
        lists.add(call) { done in
            AppDirectory.entries(of: [app], by: worker) { names in
                done(Result { () throws(PermissionError) in try statusRows(filter, name: names[app]?.name) })
            }
        }
    }

    /// - Parameter name: Of the app in the filter.
    private func statusRows(_ filter: RowFilter, name: String? = nil) throws(PermissionError) -> [ListQueue.Row] {
        let permissions = Permission.allCases.filter { [nil, .permission($0)].contains(filter.item) }
        var apps = try decidedApps(filter)
        if let app = filter.app, apps.isEmpty { apps = [DecidedApp(app: app)] }
        // Each app has a row for each permission.
        return filter.page.places(in: apps.count * permissions.count).map { place in
            var row = row(apps[place / permissions.count], permissions[place % permissions.count])
            row["app_name"] = name.map { .string(SafeText.name($0)) }
            return row
        }
    }

    private func row(_ decided: DecidedApp, _ permission: Permission) -> ListQueue.Row {
        let app = decided.app
        let decisions = decided.decisions.filter { $0.permission == permission }
        let pause = decided.pauses.first { $0.item == .permission(permission) }
        // Those for its processes (`once`) count if there is none for the app.
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
