// org.permd.Access1, for apps: decodes and limits each call, and decides nothing.

import DBus
import PermissionCore
import PermissionModel

/// Takes requests into the queue.
@LoopActor
protocol RequestTaking: AnyObject {
    /// Takes the request that the closure makes from its ID and arrival time. Its origin is notified of its progress.
    func take(from origin: any RequestOrigin, _ request: (RequestID, EpochSeconds) -> AccessRequest)
    /// Returns a path for an app's next request. Throws if the app already uses that token.
    func newPath(owner: String, token: String?) throws(PermissionError) -> String
    /// Releases the place in the queue that is kept for the connection.
    func releaseHold(of connection: String)
}

@LoopActor
struct AccessInterface {
    let connection: Connection
    let identifier: any CallerLookup
    let facts: CurrentFacts
    let devices: DeviceCatalog
    let statuses: StatusPublisher
    unowned let requests: any RequestTaking

    /// The version of the D-Bus interfaces.
    static let version: UInt32 = 1

    var interface: Interface {
        Interface(
            name: BusNames.access,
            methods: [
                Method(
                    "RequestAccess", ["permissions": "as", "options": "a{sv}"], returns: ["request": "o"],
                    callers: .apps, requestAccess),
                Method(
                    "GetStatus", ["permissions": "as"], returns: ["statuses": "a{ss}"], callers: .apps, getStatus),
                Method(
                    "OpenDevice", ["permission": "s", "device": "s", "options": "a{sv}"],
                    returns: ["fd": "h", "info": "a{sv}"], callers: .apps, openDevice),
                Method("ReleaseHold", callers: .apps) { call in
                    call.reply()
                    requests.releaseHold(of: call.sender)
                },
            ],
            signals: [Signal("StatusChanged", ["permission": "s", "status": "s"])],
            properties: [
                Property("Version", "u") { _ in .uint32(AccessInterface.version) },
                Property("Permissions", "as") { _ in .strings(Permission.allCases.map(\.rawValue)) },
            ], readers: .apps)
    }

    /// Returns the caller of an authorized call, and adds it to the receivers of StatusChanged.
    private func caller(of call: MethodCall) throws(PermissionError) -> Caller {
        guard let caller = identifier.cached(call.sender) else {
            throw PermissionError(.accessDenied, "the caller has left the bus")
        }
        statuses.add(caller)
        return caller
    }

    private func requestAccess(_ call: MethodCall) throws(PermissionError) {
        let caller = try caller(of: call)
        let permissions = try parsePermissions(call.arguments[0])
        guard !permissions.isEmpty else { throw PermissionError(.invalidArguments, "the list of permissions is empty") }
        let options = try Options(call.arguments[1])

        let token = try options.string("handle_token")
        if let token, !BusNames.isToken(token) {
            throw PermissionError(.invalidArguments, "handle_token \(quoted(token)) does not match [A-Za-z0-9_]{1,64}")
        }
        let hold = try options.uint32("hold") ?? 0
        guard hold <= Limits.maximumHold else {
            throw PermissionError(
                .invalidArguments, "hold is \(hold); the maximum is \(Limits.maximumHold) seconds")
        }
        let parentWindow = try options.string("parent_window") ?? ""
        guard AccessInterface.isParentWindow(parentWindow) else {
            throw PermissionError(
                .invalidArguments, "parent_window \(quoted(parentWindow)) is neither x11:XID nor wayland:HANDLE")
        }
        var reasons: [Permission: String] = [:]
        if let texts = try options.table("reasons") {
            for permission in permissions {
                if let text = texts[permission.rawValue] { reasons[permission] = SafeText.body(text) }
            }
        }
        let explanation = try options.pair("explanation").map {
            Explanation(title: SafeText.title($0.0), body: SafeText.body($0.1))
        }
        let isInteractive = try options.bool("interactive") ?? true
        let path = try requests.newPath(owner: caller.connection, token: token)
        requests.take(from: RequestObject(path: path, call: call, connection: connection)) {
            AccessRequest(
                id: $0, path: path, caller: caller, questions: permissions.map(Question.permission), reasons: reasons,
                explanation: explanation, parentWindow: parentWindow, hold: hold, isInteractive: isInteractive,
                arrived: $1)
        }
    }

    private func getStatus(_ call: MethodCall) throws(PermissionError) {
        let caller = try caller(of: call)
        var permissions = try parsePermissions(call.arguments[0])
        if permissions.isEmpty { permissions = Permission.allCases }
        call.reply(.stringTable(permissions.map { ($0.rawValue, facts.status(of: $0, for: caller).rawValue) }))
    }

    private func openDevice(_ call: MethodCall) throws(PermissionError) {
        let caller = try caller(of: call)
        let permission = try parsePermission(call.string(0))
        let writable = try Options(call.arguments[2]).bool("writable")
        guard devices.canOpen(permission) else {
            throw PermissionError(.notSupported, "\(permission.rawValue) has no device node to open")
        }
        guard facts.standing(of: permission, for: caller) == .granted else {
            throw PermissionError(.notGranted, "\(permission.rawValue) is not granted to \(caller.app)")
        }
        let (fd, isWritable, opened) = try devices.open(permission, device: call.string(1), writable: writable)
        call.reply(
            .unixFD(UnixFD(owning: fd)),
            .properties([
                "permission": .string(permission.rawValue), "id": .string(opened.id), "node": .string(opened.node),
                "name": .string(opened.name), "writable": .bool(isWritable),
            ]))
    }

    /// Whether the text is empty, `x11:XID` or `wayland:HANDLE`, as in portals. Real handles are far shorter.
    static func isParentWindow(_ text: String) -> Bool {
        text.isEmpty
            || (text.hasPrefix("x11:") || text.hasPrefix("wayland:")) && text.utf8.count <= 256
                && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
