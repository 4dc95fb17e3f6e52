// The door for apps, org.permd.Access1: decodes and bounds each call, never decides.

import DBus
import PermissionCore
import PermissionModel

@LoopActor
struct AccessDoor {
    unowned let broker: Broker

    /// The version of the interfaces, not of the program.
    static let version: UInt32 = 1

    var interface: Interface {
        Interface(
            name: BusNames.access,
            methods: [
                Method(
                    name: "RequestAccess",
                    inputs: [Argument("permissions", "as"), Argument("options", "a{sv}")],
                    outputs: [Argument("request", "o")]
                ) { call in call.answering { () throws(PermissionError) in try requestAccess(call) } },
                Method(
                    name: "GetStatus", inputs: [Argument("permissions", "as")],
                    outputs: [Argument("statuses", "a{ss}")]
                ) { call in call.answering { () throws(PermissionError) in try getStatus(call) } },
                Method(
                    name: "OpenDevice",
                    inputs: [Argument("permission", "s"), Argument("device", "s"), Argument("options", "a{sv}")],
                    outputs: [Argument("fd", "h"), Argument("info", "a{sv}")]
                ) { call in call.answering { () throws(PermissionError) in try openDevice(call) } },
                Method(name: "ReleaseHold", inputs: [], outputs: []) { call in
                    call.reply()
                    broker.feed(.holdReleased(call.sender))
                },
            ],
            signals: [
                Signal(name: "StatusChanged", arguments: [Argument("permission", "s"), Argument("status", "s")])
            ],
            properties: [
                Property(name: "Version", signature: "u") { _ in .uint32(AccessDoor.version) },
                Property(name: "Permissions", signature: "as") { _ in
                    .strings(Permission.allCases.map(\.rawValue))
                },
            ]
        )
    }

    private func requestAccess(_ call: MethodCall) throws(PermissionError) {
        let caller = try broker.caller(of: call)
        let permissions = try parsePermissions(call.arguments[0])
        guard !permissions.isEmpty else { throw PermissionError(.invalidArguments, "no permission is named") }
        let options = try Options(call.arguments[1])

        let token = try options.string("handle_token")
        if let token, !BusNames.isToken(token) {
            throw PermissionError(.invalidArguments, "handle_token \(quoted(token)) does not match [A-Za-z0-9_]{1,64}")
        }
        let hold = try options.uint32("hold") ?? 0
        guard hold <= Limits.maximumHold else {
            throw PermissionError(
                .invalidArguments, "hold is \(hold); a place is kept \(Limits.maximumHold) seconds at most")
        }
        let parentWindow = try options.string("parent_window") ?? ""
        guard AccessDoor.isParentWindow(parentWindow) else {
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
        // Nothing may fail from here on: the object would stay.
        let id = broker.newRequestID()
        let path = try broker.requests.open(id, owner: caller.connection, token: token)
        broker.requests.keep(call, for: id)
        broker.feed(
            .requested(
                AccessRequest(
                    id: id, path: path, caller: caller, permissions: permissions, reasons: reasons,
                    explanation: explanation, parentWindow: parentWindow, hold: hold,
                    isInteractive: isInteractive, arrived: broker.now())))
    }

    private func getStatus(_ call: MethodCall) throws(PermissionError) {
        let caller = try broker.caller(of: call)
        var permissions = try parsePermissions(call.arguments[0])
        if permissions.isEmpty { permissions = Permission.allCases }
        call.reply(.stringTable(permissions.map { ($0.rawValue, broker.status(of: $0, for: caller).rawValue) }))
    }

    private func openDevice(_ call: MethodCall) throws(PermissionError) {
        let caller = try broker.caller(of: call)
        guard let name = call.arguments[0].stringValue, let device = call.arguments[1].stringValue else {
            throw PermissionError(.invalidArguments)
        }
        let permission = try parsePermission(name)
        let writable = try Options(call.arguments[2]).bool("writable")
        guard broker.devices.canOpen(permission) else {
            throw PermissionError(.notSupported, "\(permission.rawValue) has no device node to open")
        }
        guard broker.standing(of: permission, for: caller) == .granted else {
            throw PermissionError(.notGranted, "\(permission.rawValue) is not granted to \(caller.app)")
        }
        let (fd, isWritable, opened) = try broker.devices.open(permission, device: device, writable: writable)
        call.reply(
            .unixFD(UnixFD(owning: fd)),
            .properties([
                "permission": .string(permission.rawValue), "id": .string(opened.id), "node": .string(opened.node),
                "name": .string(opened.name), "writable": .bool(isWritable),
            ]))
    }

    /// `x11:XID`, `wayland:HANDLE` or empty, as portals have it; handles of real compositors are far shorter.
    static func isParentWindow(_ text: String) -> Bool {
        text.isEmpty
            || (text.hasPrefix("x11:") || text.hasPrefix("wayland:")) && text.utf8.count <= 256
                && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
