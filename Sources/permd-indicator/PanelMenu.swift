// The menu of the item: com.canonical.dbusmenu, version 3, as libdbusmenu and the panels speak it.

import DBus

@LoopActor
final class PanelMenu {
    static let path = "/MenuBar"
    static let name = "com.canonical.dbusmenu"
    /// The entry that has all others as its children.
    private static let root: Int32 = 0

    private struct Item {
        let id: Int32
        let entry: PanelView.Entry
    }

    private let connection: Connection
    var onCommand: @LoopActor (Command) -> Void = { _ in }
    private var items: [Item] = []
    private var revision: UInt32 = 1
    private var lastID = PanelMenu.root

    init(_ connection: Connection) { self.connection = connection }

    /// An entry keeps its number while it is in the menu, and no other gets that number: a click on an entry that has
    /// just gone chooses nothing.
    func show(_ entries: [PanelView.Entry]) {
        guard items.map(\.entry) != entries else { return }
        var old = items
        items = entries.map { entry in
            if let index = old.firstIndex(where: { $0.entry == entry }) { return old.remove(at: index) }
            lastID += 1
            return Item(id: lastID, entry: entry)
        }
        revision &+= 1
        // Panels read the layout again. The signal itself is a broadcast, and says nothing about uses.
        connection.send(
            .signal(
                path: PanelMenu.path, interface: PanelMenu.name, member: "LayoutUpdated",
                [.uint32(revision), .int32(PanelMenu.root)]))
    }

    // MARK: Properties of entries

    private func properties(_ id: Int32) -> [String: Value]? {
        if id == PanelMenu.root { return ["children-display": .string("submenu")] }
        return items.first { $0.id == id }.map { PanelMenu.properties($0.entry) }
    }

    private static func properties(_ entry: PanelView.Entry) -> [String: Value] {
        switch entry {
        case .separator: return ["type": .string("separator")]
        case .command(_, let label): return ["label": .string(escaped(label))]
        case .line(let label, let icon):
            var values: [String: Value] = ["label": .string(escaped(label)), "enabled": .bool(false)]
            if !icon.isEmpty { values["icon-name"] = .string(icon) }
            return values
        }
    }

    /// A single underscore would mark the letter after it as an access key.
    private static func escaped(_ label: String) -> String { label.replacing("_", with: "__") }

    /// - Parameter wanted: The names of the properties; all if it is empty.
    private func properties(_ id: Int32, _ wanted: Set<String>) -> Value? {
        properties(id).map { all in .properties(wanted.isEmpty ? all : all.filter { wanted.contains($0.key) }) }
    }

    private func layout(_ id: Int32, depth: Int32, _ wanted: Set<String>) -> Value? {
        guard let own = properties(id, wanted) else { return nil }
        let children = id == PanelMenu.root && depth != 0 ? items.map(\.id) : []
        return .structure([
            .int32(id), own,
            .array(of: "v", children.compactMap { layout($0, depth: 0, wanted).map { .variant($0) } }),
        ])
    }

    // MARK: Calls

    var interface: Interface {
        func method(
            _ name: String, _ inputs: Arguments, _ outputs: Arguments,
            _ handler: @escaping @LoopActor (PanelMenu, MethodCall) -> Void
        ) -> Method {
            Method(name: name, inputs: inputs, outputs: outputs, callers: TrustedCallers.all) { [weak self] call in
                if let self { handler(self, call) }
            }
        }
        return Interface(
            name: PanelMenu.name,
            methods: [
                method(
                    "GetLayout", ["parentId": "i", "recursionDepth": "i", "propertyNames": "as"],
                    ["revision": "u", "layout": "(ia{sv}av)"]
                ) { $0.getLayout($1) },
                method("GetGroupProperties", ["ids": "ai", "propertyNames": "as"], ["properties": "a(ia{sv})"]) {
                    $0.getGroupProperties($1)
                },
                method("GetProperty", ["id": "i", "name": "s"], ["value": "v"]) { $0.getProperty($1) },
                method("Event", ["id": "i", "eventId": "s", "data": "v", "timestamp": "u"], [:]) { $0.event($1) },
                method("EventGroup", ["events": "a(isvu)"], ["idErrors": "ai"]) { $0.eventGroup($1) },
                method("AboutToShow", ["id": "i"], ["needUpdate": "b"]) { _, call in call.reply(.bool(false)) },
                method("AboutToShowGroup", ["ids": "ai"], ["updatesNeeded": "ai", "idErrors": "ai"]) { _, call in
                    call.reply(.array(of: "i", []), .array(of: "i", []))
                },
            ],
            signals: [
                Signal("ItemsPropertiesUpdated", ["updatedProps": "a(ia{sv})", "removedProps": "a(ias)"]),
                Signal("LayoutUpdated", ["revision": "u", "parent": "i"]),
                Signal("ItemActivationRequested", ["id": "i", "timestamp": "u"]),
            ],
            properties: [
                Property("Version", "u") { _ in .uint32(3) },
                Property("TextDirection", "s") { _ in .string("ltr") },
                Property("Status", "s") { _ in .string("normal") },
                Property("IconThemePath", "as") { _ in .strings([]) },
            ],
            readers: TrustedCallers.all)
    }

    private func getLayout(_ call: MethodCall) {
        guard let id = call.arguments[0].int32Value, let depth = call.arguments[1].int32Value,
            let layout = layout(id, depth: depth, Set(call.arguments[2].strings ?? []))
        else { return unknown(call) }
        call.reply(.uint32(revision), layout)
    }

    private func getGroupProperties(_ call: MethodCall) {
        let asked = (call.arguments[0].elements ?? []).compactMap(\.int32Value)
        let wanted = Set(call.arguments[1].strings ?? [])
        // Each at most once, however often it was asked for.
        let ids = [PanelMenu.root] + items.map(\.id)
        let found = asked.isEmpty ? ids : ids.filter(Set(asked).contains)
        call.reply(
            .array(
                of: "(ia{sv})",
                found.compactMap { id in properties(id, wanted).map { .structure([.int32(id), $0]) } }))
    }

    private func getProperty(_ call: MethodCall) {
        guard let id = call.arguments[0].int32Value, let name = call.arguments[1].stringValue,
            let value = properties(id)?[name]
        else { return unknown(call) }
        call.reply(.variant(value))
    }

    private func event(_ call: MethodCall) {
        guard let id = call.arguments[0].int32Value, happened(id, call.arguments[1].stringValue) else {
            return unknown(call)
        }
        call.reply()
    }

    private func eventGroup(_ call: MethodCall) {
        let events = (call.arguments[0].elements ?? []).compactMap(\.elements)
        var unknown: [Value] = []
        for event in events where event.count == 4 {
            guard let id = event[0].int32Value else { continue }
            if !happened(id, event[1].stringValue) { unknown.append(.int32(id)) }
        }
        if !events.isEmpty, unknown.count == events.count { return self.unknown(call) }
        call.reply(.array(of: "i", unknown))
    }

    /// Returns false if there is no such entry.
    private func happened(_ id: Int32, _ event: String?) -> Bool {
        if id == PanelMenu.root { return true }
        guard let item = items.first(where: { $0.id == id }) else { return false }
        if event == "clicked", case .command(let command, _) = item.entry { onCommand(command) }
        return true
    }

    private func unknown(_ call: MethodCall) {
        call.fail(name: BusError.Name.invalidArgs, body: [.string("there is no such entry or property")])
    }
}

extension Value {
    fileprivate var int32Value: Int32? { if case .int32(let value) = self { value } else { nil } }
}
