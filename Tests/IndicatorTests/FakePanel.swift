// A panel with a watcher and a host: it notes which items register, and looks at them as panels do.

import DBus
import PermissionTestKit

@LoopActor
final class FakePanel {
    static let name = "org.kde.StatusNotifierWatcher"
    private static let item = (path: "/StatusNotifierItem", interface: "org.kde.StatusNotifierItem")
    private static let menu = (path: "/MenuBar", interface: "com.canonical.dbusmenu")

    let connection: Connection
    /// What the items said their names are.
    let items = EventLog<String>()
    /// The signals of items and menus.
    let signals = EventLog<String>()
    private let server: ObjectServer
    private var hasHost: Bool

    init(_ bus: PrivateBus, hasHost: Bool = true) async throws {
        let connection = try bus.connect()
        self.connection = connection
        self.hasHost = hasHost
        server = ObjectServer(connection: connection) { call, text in
            call.fail(name: BusError.Name.invalidArgs, body: [.string(text)])
        }
        server.add(
            Interface(
                name: FakePanel.name,
                methods: [
                    Method(name: "RegisterStatusNotifierItem", inputs: ["service": "s"], outputs: [:]) { [items] call in
                        items.add(call.arguments[0].stringValue ?? "")
                        call.reply()
                    }
                ],
                properties: [
                    Property("IsStatusNotifierHostRegistered", "b") { [weak self] _ in .bool(self?.hasHost == true) }
                ]), at: "/StatusNotifierWatcher")
        for interface in [FakePanel.item.interface, FakePanel.menu.interface] {
            connection.onSignal(interface: interface) { [signals] in signals.add($0.member ?? "") }
        }
        guard try connection.requestName(FakePanel.name) else { throw TestKitError("there is a watcher already") }
    }

    func addHost() {
        hasHost = true
        connection.send(
            .signal(
                path: "/StatusNotifierWatcher", interface: FakePanel.name, member: "StatusNotifierHostRegistered"))
    }

    /// Waits for that many registrations, and returns the name of the last item.
    func item(_ count: Int = 1) async throws -> String { try await items.wait(for: count)[count - 1] }

    // MARK: Looking

    func property(_ name: String, of item: String) async throws -> Value {
        let call = Message.call(
            destination: item, path: FakePanel.item.path, interface: StandardInterfaces.properties, member: "Get",
            [.string(FakePanel.item.interface), .string(name)])
        guard case .variant(let value)? = try await connection.call(call).body.first else {
            throw TestKitError("the item has no \(name)")
        }
        return value
    }

    /// The title of the tooltip, which is all that some panels show, without the marks around names.
    func tooltip(of item: String) async throws -> String {
        let texts = try await property("ToolTip", of: item).elements?.suffix(2).compactMap(\.stringValue) ?? []
        guard texts.count == 2, texts[1].isEmpty else { throw TestKitError("an unexpected tooltip: \(texts)") }
        return plain(texts[0])
    }

    func menuCall(_ member: String, _ body: [Value], of item: String) async throws(BusError) -> [Value] {
        try await connection.call(
            .call(
                destination: item, path: FakePanel.menu.path, interface: FakePanel.menu.interface, member: member, body)
        ).body
    }

    struct Entry: Sendable {
        let id: Int32
        let properties: [String: Value]
        /// `-` for separators; in parentheses if it cannot be chosen.
        var text: String {
            if properties["type"] == .string("separator") { return "-" }
            let label = properties["label"]?.stringValue ?? ""
            return properties["enabled"] == .bool(false) ? "(\(label))" : label
        }
    }

    func menu(of item: String) async throws -> [Entry] {
        let body = try await menuCall("GetLayout", [.int32(0), .int32(-1), .strings([])], of: item)
        guard body.count == 2, let root = body[1].elements, root[0] == .int32(0),
            root[1].properties?["children-display"] == .string("submenu"), let children = root[2].elements
        else { throw TestKitError("no layout: \(body)") }
        return children.compactMap { child in
            guard case .variant(let value) = child, let fields = value.elements, case .int32(let id) = fields[0],
                let properties = fields[1].properties
            else { return nil }
            return Entry(id: id, properties: properties)
        }
    }

    /// The texts of the menu, without the marks around names.
    func texts(of item: String) async throws -> [String] {
        try await menu(of: item).map { plain($0.text) }
    }

    /// Waits until the menu has these texts.
    func waitForMenu(_ expected: [String], of item: String) async throws {
        try await waitForMenu(of: item) { $0 == expected }
    }

    func waitForMenu(of item: String, _ fits: ([String]) -> Bool) async throws {
        while true {
            // Counted before the look, so that no change is missed.
            let seen = signals.all.filter { $0 == "LayoutUpdated" }.count
            let texts = try await texts(of: item)
            if fits(texts) { return }
            do { try await waitForLayout(seen + 1) } catch { throw TestKitError("the menu stays \(texts)") }
        }
    }

    private func waitForLayout(_ count: Int) async throws {
        while signals.all.filter({ $0 == "LayoutUpdated" }).count < count {
            try await signals.wait(for: signals.all.count + 1)
        }
    }

    func click(_ id: Int32, of item: String, _ event: String = "clicked") async throws(BusError) {
        _ = try await menuCall(
            "Event", [.int32(id), .string(event), .variant(.int32(0)), .uint32(0)], of: item)
    }

    func click(_ text: String, of item: String) async throws {
        let entries = try await menu(of: item)
        guard let entry = entries.first(where: { plain($0.text) == text }) else {
            throw TestKitError("the menu has no \(text): \(entries.map(\.text))")
        }
        try await click(entry.id, of: item)
    }
}

/// Without the marks that isolate the direction of a name.
func plain(_ text: String) -> String { text.filter { $0 != "\u{2068}" && $0 != "\u{2069}" } }
