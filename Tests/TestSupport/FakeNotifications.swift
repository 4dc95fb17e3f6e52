// A notification server, whose person chooses what a test says.

public import DBus
public import PermissionTestKit

@LoopActor
public final class FakeNotifications {
    public static let name = "org.freedesktop.Notifications"
    private static let path = "/org/freedesktop/Notifications"

    public struct Shown: Sendable {
        public let id: UInt32
        public let replaces: UInt32
        public let icon: String
        public let summary: String
        public let body: String
        /// Names and labels, in turn.
        public let actions: [String]
        public let hints: [String: Value]
    }

    public let connection: Connection
    public let shown = EventLog<Shown>()
    /// The notifications that were closed by whoever showed them.
    public let closed = EventLog<UInt32>()
    private let server: ObjectServer
    private var last: UInt32 = 0

    public init(_ bus: PrivateBus, capabilities: [String] = ["actions", "body", "body-markup"]) throws {
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

    public func choose(_ action: String, of id: UInt32, from connection: Connection? = nil) {
        (connection ?? self.connection).send(
            .signal(
                path: FakeNotifications.path, interface: FakeNotifications.name, member: "ActionInvoked",
                [.uint32(id), .string(action)]))
    }

    public func close(_ id: UInt32, _ reason: UInt32 = 2) {
        connection.send(
            .signal(
                path: FakeNotifications.path, interface: FakeNotifications.name, member: "NotificationClosed",
                [.uint32(id), .uint32(reason)]))
    }
}
