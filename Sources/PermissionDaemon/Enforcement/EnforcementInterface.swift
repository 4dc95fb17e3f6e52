// org.permd.Enforcement1, for enforcement points: programs that stand between apps and a device, such as the helper of a
// sound server. They ask for apps, obey, and report what is used.

import DBus
import PermissionCore
import PermissionModel
import ProcessIdentity
import System

@LoopActor
struct EnforcementInterface {
    let identifier: any CallerLookup
    let processes: ProcessIdentifier
    let facts: CurrentFacts
    let policy: RuleSet
    let subscribers: Subscribers
    let uses: DeviceUsage
    let objects: RequestObjects
    let systemPoints: SystemPoints
    unowned let requests: any RequestSink
    /// Called with an app, when its last use that a point reported has ended, and with the point's process: that process
    /// holds what was granted once to an app whose own process the point does not know.
    let onLastUse: @LoopActor (AppID, ProcessKey) -> Void
    private let waiting = WaitingCalls()

    var interface: Interface {
        Interface(
            name: BusNames.enforcement,
            methods: [
                Method(
                    "RequestAccessFor", ["who": "v", "permissions": "as", "options": "a{sv}"],
                    returns: ["request": "o"], callers: .unsandboxed, takesDescriptors: true,
                    options: Options.ofRequest.union(["device_name"]), withSubject(requestAccess)),
                Method(
                    "GetStatusFor", ["who": "v", "permissions": "as"], returns: ["statuses": "a{ss}"],
                    callers: .unsandboxed, takesDescriptors: true, withSubject(getStatus)),
                Method(
                    "GetAccessFor", ["who": "v", "permissions": "as"], returns: ["access": "a{sa{sv}}"],
                    callers: .unsandboxed, takesDescriptors: true, withSubject(getAccess)),
                Method(
                    "ReportUse", ["who": "v", "permission": "s", "details": "a{sv}"], returns: ["use": "u"],
                    callers: .unsandboxed, takesDescriptors: true,
                    options: ["device", "device_name", "source", "bypassed"], withSubject(reportUse)),
                Method("EndUse", ["use": "u"], callers: .unsandboxed, endUse),
                Method("ListPoints", returns: ["points": "aa{sv}"], callers: .unsandboxed) { call in
                    call.reply(.rows(subscribers.names.sorted().map(row)))
                },
            ] + subscribers.methods,
            signals: [Signal("StatusChanged", ["app": "s", "permission": "s"])],
            properties: [Property("Ask", "s", .silent) { _ in .string(policy.configuration.ask.rawValue) }],
            readers: .unsandboxed)
    }

    /// Something about the app and permission has changed, which the points have to know; nil means any.
    func notify(_ app: AppID?, _ permission: Permission?) {
        systemPoints.changed(permission)
        subscribers.send(
            "StatusChanged", [.string(app?.description ?? ""), .string(permission?.rawValue ?? "")])
    }

    private func requestAccess(_ call: MethodCall, by subject: EnforcementSubject) throws(PermissionError) {
        let device = SafeText.title(try Options(call.arguments[2]).string("device_name") ?? "")
        try objects.create(
            call, call.arguments[1], call.arguments[2], by: subject.caller, device: device, endingWith: subject.pidfd)
    }

    private func getStatus(_ call: MethodCall, of subject: EnforcementSubject) throws(PermissionError) {
        call.replyStatuses(of: try parsePermissionsOrAll(call.arguments[1])) {
            facts.status(of: $0, for: subject.caller, assumesDevice: true)
        }
    }

    private func getAccess(_ call: MethodCall, of subject: EnforcementSubject) throws(PermissionError) {
        let entries = try parsePermissionsOrAll(call.arguments[1]).map { permission in
            let access = facts.access(to: permission, for: subject.caller)
            return DictionaryEntry(.string(permission.rawValue), .properties(access.row))
        }
        call.reply(.dictionary(key: "s", value: "a{sv}", entries))
    }

    private func reportUse(_ call: MethodCall, by subject: EnforcementSubject) throws(PermissionError) {
        let permission = try parsePermission(call.string(1))
        let details = try Options(call.arguments[2])
        let report = UseReport(
            app: subject.caller.app, pid: subject.pid,
            device: UsedDevice(
                permission: permission, id: try details.string("device") ?? "",
                name: try details.string("device_name") ?? ""),
            source: try details.string("source") ?? "",
            status: facts.status(of: permission, for: subject.caller, assumesDevice: true),
            isBypass: try details.bool("bypassed") ?? false)
        call.reply(.uint32(try uses.reportUse(report, by: call.sender)))
    }

    private func endUse(_ call: MethodCall) throws(PermissionError) {
        let number = call.arguments[0].uint32Value ?? 0
        let point = try identifier.caller(of: call)
        try endUses(of: point) { (name) throws(PermissionError) in try uses.endUse(number, by: name) }
        call.reply()
    }

    /// Runs `body`, which ends uses that the point has reported.
    func endUses<Failure>(of point: Caller, _ body: (String) throws(Failure) -> Void) throws(Failure) {
        let before = uses.sandboxedApps(reportedBy: point.connection)
        try body(point.connection)
        for app in before.subtracting(uses.sandboxedApps(reportedBy: point.connection)) {
            onLastUse(app, point.process)
        }
    }

    /// Calls `body` once it is known who is meant.
    private func withSubject(
        _ body: @escaping @LoopActor (MethodCall, EnforcementSubject) throws(PermissionError) -> Void
    ) -> @LoopActor (MethodCall) throws(PermissionError) -> Void {
        { (call) throws(PermissionError) in
            let point = try identifier.caller(of: call)
            let end = try waiting.add(call.message)
            EnforcementSubject.find(call.arguments[0], namedBy: point, processes) { subject in
                end()
                do throws(PermissionError) {
                    // The point may have left the bus meanwhile.
                    _ = try identifier.caller(of: call)
                    try body(call, try subject.get())
                } catch {
                    call.fail(error)
                }
            }
        }
    }

    private func row(_ name: String) -> [String: Value] {
        ["owner": .string(name), "app": .string(identifier.cached(name)?.app.description ?? "")]
    }
}

extension SubjectAccess {
    /// As GetAccessFor returns it.
    fileprivate var row: [String: Value] {
        var row = ["access": Value.string(access.rawValue)]
        if let ended { row["ended"] = .string(ended.rawValue) }
        return row
    }
}
