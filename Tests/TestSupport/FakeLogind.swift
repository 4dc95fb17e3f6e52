// A logind controlled by a test, on a bus of its own that replaces the system bus.

package import DBus
import Glibc
package import PermissionTestKit

/// A fake logind. Its sessions belong to the user of this process by default.
///
/// ```swift
/// let logind = try await FakeLogind()
/// logind.add("1")
/// let permd = try await PermdProcess(environment: logind.environment)
/// logind.change("1", isLocked: true)
/// ```
@LoopActor
package final class FakeLogind {
    private struct Session {
        var user: UInt32
        var kind: String
        var isActive: Bool
        var isLocked: Bool
        var seat: String
        var isClosing = false

        var state: String { isClosing ? "closing" : isActive ? "active" : "online" }
    }

    private static let name = "org.freedesktop.login1"
    private static let root = "/org/freedesktop/login1"

    private let bus: PrivateBus
    private var connection: Connection
    private var server: ObjectServer?
    private var sessions: [String: Session] = [:]
    private var waiting: [MethodCall] = []
    /// Whether ListSessions is answered only when this becomes false.
    package var isSlow = false {
        didSet {
            guard !isSlow else { return }
            waiting.forEach(list)
            waiting = []
        }
    }
    /// The callers of ListSessions.
    package let listings = EventLog<String>()

    package init(_ kind: PrivateBus.Kind = .daemon) async throws {
        bus = try await PrivateBus(kind)
        connection = try bus.connect()
        try serve()
    }

    private func serve() throws(BusError) {
        let server = ObjectServer(connection: connection) { call, text in
            call.fail(name: BusError.Name.unknownMethod, body: [.string(text)])
        }
        server.add(
            Interface(
                name: "\(FakeLogind.name).Manager",
                methods: [
                    Method(name: "ListSessions", inputs: [:], outputs: ["sessions": "a(susso)"]) {
                        [unowned self] call in
                        listings.add(call.sender)
                        if isSlow { waiting.append(call) } else { list(for: call) }
                    }
                ]), at: FakeLogind.root)
        server.addSubtree(
            prefix: "\(FakeLogind.root)/session",
            ObjectTree(
                interfaces: { [unowned self] path, _ in interfaces(at: path) }, children: { _, _ in [] }))
        self.server = server
        try _ = connection.requestName(FakeLogind.name)
    }

    /// Leaves the bus, without answers to the calls that wait, and comes back with the same sessions.
    package func restart() throws(BusError) {
        connection.close()
        waiting = []
        connection = try bus.connect()
        try serve()
    }

    /// The environment in which permd uses this bus as the system bus.
    package var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": bus.address] }

    package var address: String { bus.address }

    /// - Parameter seat: Empty for a remote session.
    package func add(
        _ id: String, user: UInt32 = getuid(), kind: String = "user", isActive: Bool = true, isLocked: Bool = false,
        seat: String = "seat0"
    ) {
        sessions[id] = Session(user: user, kind: kind, isActive: isActive, isLocked: isLocked, seat: seat)
        announce("SessionNew", id)
    }

    package func remove(_ id: String) {
        sessions[id] = nil
        announce("SessionRemoved", id)
    }

    package func change(_ id: String, isActive: Bool? = nil, isLocked: Bool? = nil, isClosing: Bool? = nil) {
        if let isActive { sessions[id]?.isActive = isActive }
        if let isLocked { sessions[id]?.isLocked = isLocked }
        if let isClosing { sessions[id]?.isClosing = isClosing }
        connection.send(
            .signal(
                path: path(id), interface: StandardInterfaces.properties, member: "PropertiesChanged",
                [.string("\(FakeLogind.name).Session"), .properties([:]), .strings(["Active", "LockedHint"])]))
    }

    /// Stops logind and its bus.
    package func stop() async {
        connection.close()
        await bus.end()
    }

    private func list(for call: MethodCall) { call.reply(.array(of: "(susso)", rows)) }

    private var rows: [Value] {
        sessions.sorted { $0.key < $1.key }.map { id, session in
            .structure([
                .string(id), .uint32(session.user), .string("somebody"), .string(session.seat),
                .objectPath(path(id)),
            ])
        }
    }

    private func path(_ id: String) -> String { "\(FakeLogind.root)/session/\(id)" }

    private func interfaces(at path: String) -> [Interface]? {
        guard let id = path.split(separator: "/").last.map(String.init), let session = sessions[id] else { return nil }
        func property(_ name: String, _ signature: String, _ value: Value) -> Property {
            Property(name, signature) { _ in value }
        }
        return [
            Interface(
                name: "\(FakeLogind.name).Session", methods: [],
                properties: [
                    property("Id", "s", .string(id)),
                    property("User", "(uo)", .structure([.uint32(session.user), .objectPath(FakeLogind.root)])),
                    property("Class", "s", .string(session.kind)),
                    property("State", "s", .string(session.state)),
                    property("Active", "b", .bool(session.isActive)),
                    property(
                        "Seat", "(so)",
                        .structure([.string(session.seat), .objectPath(session.seat.isEmpty ? "/" : FakeLogind.root)])),
                    property("LockedHint", "b", .bool(session.isLocked)),
                ])
        ]
    }

    private func announce(_ member: String, _ id: String) {
        connection.send(
            .signal(
                path: FakeLogind.root, interface: "\(FakeLogind.name).Manager", member: member,
                [.string(id), .objectPath(path(id))]))
    }
}
