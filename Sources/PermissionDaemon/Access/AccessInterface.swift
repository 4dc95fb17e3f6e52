// org.permd.Access1, for apps: decodes and limits each call, and decides nothing.

import DBus
import PermissionCore
import PermissionModel
import System

@LoopActor
struct AccessInterface {
    let identifier: any CallerLookup
    let facts: CurrentFacts
    let devices: DeviceCatalog
    let statuses: StatusPublisher
    let objects: RequestObjects
    let settings: SettingsOpening
    unowned let requests: any RequestSink

    /// The version of the D-Bus interfaces.
    static let version: UInt32 = 1

    var interface: Interface {
        Interface(
            name: BusNames.access,
            methods: [
                Method(
                    "RequestAccess", ["permissions": "as", "options": "a{sv}"], returns: ["request": "o"],
                    callers: .apps, options: Options.ofRequest, requestAccess),
                Method(
                    "GetStatus", ["permissions": "as"], returns: ["statuses": "a{ss}"], callers: .apps, getStatus),
                Method(
                    "OpenDevice", ["permission": "s", "device": "s", "options": "a{sv}"],
                    returns: ["fd": "h", "info": "a{sv}"], callers: .apps, options: ["writable"], openDevice),
                Method(
                    "OpenSettings", ["options": "a{sv}"], callers: .apps, options: ["activation_token"], openSettings),
                Method("ReleaseHold", callers: .apps) { call in
                    call.reply()
                    requests.feed(.reservationReleased(call.sender))
                },
            ],
            signals: [Signal("StatusChanged", ["permission": "s", "status": "s"])],
            properties: [
                Property("Version", "u", .never) { _ in .uint32(AccessInterface.version) },
                Property("Permissions", "as", .never) { _ in .strings(Permission.allCases.map(\.rawValue)) },
            ], readers: .apps)
    }

    /// Returns the caller of an authorized call, and adds it to the receivers of StatusChanged.
    private func caller(of call: MethodCall) throws(PermissionError) -> Caller {
        let caller = try identifier.caller(of: call)
        statuses.add(caller)
        return caller
    }

    private func requestAccess(_ call: MethodCall) throws(PermissionError) {
        let permissions = try parsePermissions(call.arguments[0])
        devices.whenCurrent(permissions) {
            do throws(PermissionError) { try create(call) } catch { call.fail(error) }
        }
    }

    private func create(_ call: MethodCall) throws(PermissionError) {
        let caller = try caller(of: call)
        let permissions = try objects.create(call, call.arguments[0], call.arguments[1], by: caller)
        devices.areWanted(permissions)
    }

    private func getStatus(_ call: MethodCall) throws(PermissionError) {
        let caller = try caller(of: call)
        let permissions = try parsePermissionsOrAll(call.arguments[0])
        devices.whenCurrent(permissions) { call.replyStatuses(of: permissions) { facts.status(of: $0, for: caller) } }
    }

    private func openDevice(_ call: MethodCall) throws(PermissionError) {
        let caller = try caller(of: call)
        let permission = try parsePermission(call.string(0))
        let writable = try Options(call.arguments[2]).bool("writable")
        try devices.checkNodes(of: permission)
        // Before anything that depends on the devices: a refused app learns nothing about them.
        try checkGrant(of: permission, to: caller)
        devices.whenCurrent([permission]) {
            do throws(PermissionError) {
                try devices.open(permission, device: call.string(1), writable: writable) { result in
                    do throws(PermissionError) { try pass(result, to: caller, call) } catch { call.fail(error) }
                }
            } catch {
                call.fail(error)
            }
        }
    }

    private func pass(
        _ result: Result<OpenedDevice, PermissionError>, to caller: Caller, _ call: MethodCall
    ) throws(PermissionError) {
        let opened = try result.get()
        // The decision may have been taken back while the node was being opened.
        try checkGrant(of: opened.device.permission, to: caller)
        guard opened.descriptor.canBePassed else { throw AccessInterface.crowded }
        call.reply(.unixFD(opened.descriptor), .properties(AccessInterface.details(of: opened)))
    }

    private func openSettings(_ call: MethodCall) throws(PermissionError) {
        let caller = try caller(of: call)
        let token = try Options(call.arguments[0]).string("activation_token") ?? ""
        try settings.open(caller.app, token: token, isSeatActive: requests.queue.isSeatActive) { result in
            call.answer(result.map { [] })
        }
    }

    private static let crowded = PermissionError(
        .limitExceeded, "too many descriptors of this user are on their way between processes; try again")

    private func checkGrant(of permission: Permission, to caller: Caller) throws(PermissionError) {
        guard facts.status(of: permission, for: caller, assumesDevice: true) == .granted else {
            throw PermissionError(.notGranted, "\(permission.rawValue) is not granted to \(caller.app)")
        }
    }

    private static func details(of opened: OpenedDevice) -> [String: Value] {
        [
            "permission": .string(opened.device.permission.rawValue), "id": .string(opened.device.id),
            "node": .string(opened.device.node), "name": .string(opened.device.name),
            "writable": .bool(opened.isWritable),
        ]
    }
}
