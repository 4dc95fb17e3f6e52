// A notification server, whose person chooses what a test says.

package import DBus
package import PermissionTestKit

@LoopActor
package final class FakeNotifications {
    package static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"

    package struct Shown: Sendable {
        package let id: UInt32
        package let replaces: UInt32
        package let icon: String
        package let summary: String
        package let body: String
        /// Names and labels, in turn.
        package let actions: [String]
        package let hints: [String: Value]
    }

    package let connection: Connection
    package let shown = EventLog<Shown>()
    /// The notifications that were closed by whoever showed them.
    package let closed = EventLog<UInt32>()
    private let server: ObjectServer
    private var last: UInt32 = 0

    package init(_ bus: PrivateBus, capabilities: [String] = ["actions", "body", "body-markup"]) throws {
        let connection = try bus.connect()
        self.connection = connection
        server = ObjectServer(connection: connection) { call, text in
            call.fail(name: BusError.Name.invalidArgs, body: [.string(text)])
        }
        server.add(
            Interface(
                name: FakeNotifications.name,
                methods: [
                    Method(name: "GetCapabilities", inputs: [:], outputs: ["words": "as"]) {
                        $0.reply(.strings(capabilities))
                    },
                    Method(
                        name: "Notify",
                        inputs: [
                            "app": "s", "replaces": "u", "icon": "s", "summary": "s", "body": "s", "actions": "as",
                            "hints": "a{sv}", "timeout": "i",
                        ], outputs: ["id": "u"]
                    ) { [weak self] in self?.notify($0) },
                    Method(name: "CloseNotification", inputs: ["id": "u"], outputs: [:]) { [weak self] call in
                        self?.closed.add(call.arguments[0].uint32Value ?? 0)
                        call.reply()
                        self?.close(call.arguments[0].uint32Value ?? 0, 3)
                    },
                ]), at: FakeNotifications.path)
        guard try connection.requestName(FakeNotifications.name) else {
            throw TestKitError("there is a server already")
        }
    }

    private func notify(_ call: MethodCall) {
        let arguments = call.arguments
        let replaces = arguments[1].uint32Value ?? 0
        if replaces == 0 { last += 1 }
        let id = replaces == 0 ? last : replaces
        call.reply(.uint32(id))
        shown.add(
            Shown(
                id: id, replaces: replaces, icon: arguments[2].stringValue ?? "",
                summary: arguments[3].stringValue ?? "", body: arguments[4].stringValue ?? "",
                actions: arguments[5].strings ?? [], hints: arguments[6].properties ?? [:]))
    }

    package func choose(_ action: String, of id: UInt32, from connection: Connection? = nil) {
        (connection ?? self.connection).send(
            .signal(
                path: FakeNotifications.path, interface: FakeNotifications.name, member: "ActionInvoked",
                [.uint32(id), .string(action)]))
    }

    package func close(_ id: UInt32, _ reason: UInt32 = 2) {
        connection.send(
            .signal(
                path: FakeNotifications.path, interface: FakeNotifications.name, member: "NotificationClosed",
                [.uint32(id), .uint32(reason)]))
    }
}
