// The item in the panel: a StatusNotifierItem on a connection of its own, because panels remove an item when its
// connection closes (StatusNotifierItem specification, with the interface names that all panels use).

import DBus
import PermissionTexts

@LoopActor
final class PanelItem {
    static let path = "/StatusNotifierItem"
    static let interface = "org.kde.StatusNotifierItem"

    /// Called with a command from the menu, and with what lets a window come to the front.
    var onCommand: @LoopActor (Command, _ token: String) -> Void = { _, _ in }
    /// While the item is shown.
    private var service: Service?
    private var view: PanelView?
    private var watcher: String?
    private var token = ""

    private struct Service {
        let connection: Connection
        let callers: TrustedCallers
        let server: ObjectServer
        let menu: PanelMenu
    }

    /// Shows the view at the watcher with that unique name; nothing if the view is empty.
    func show(_ view: PanelView, at watcher: String) {
        guard !view.icon.isEmpty else { return hide() }
        guard let service = service ?? open() else { return }
        let before = self.view
        self.view = view
        service.menu.show(view.menu)
        if self.watcher != watcher {
            self.watcher = watcher
            service.connection.send(
                .call(
                    destination: watcher, path: PanelWatcher.path, interface: PanelWatcher.name,
                    member: "RegisterStatusNotifierItem", [.string(service.connection.uniqueName)], noReply: true,
                    noAutoStart: true))
        } else {
            if before?.icon != view.icon { emit("NewIcon") }
            if before?.tooltip != view.tooltip || before?.icon != view.icon { emit("NewToolTip") }
        }
    }

    func hide() {
        service?.connection.close()
        service = nil
        view = nil
        watcher = nil
    }

    /// The signals are broadcasts, which say only that something has changed.
    private func emit(_ signal: String) {
        service?.connection.send(.signal(path: PanelItem.path, interface: PanelItem.interface, member: signal))
    }

    private func open() -> Service? {
        guard let opened = try? Connection.open(.session) else { return nil }
        // The connection for everything else is lost with it, which ends the program; or only this one was closed, and
        // the next change opens another.
        opened.onDisconnect { [weak self] in self?.hide() }
        let server = ObjectServer(connection: opened) { call, explanation in
            call.fail(name: BusError.Name.invalidArgs, body: [.string(explanation)])
        }
        let callers = TrustedCallers(opened)
        callers.authorizeCalls(of: server)
        let menu = PanelMenu(opened)
        menu.onCommand = { [weak self] in self?.execute($0) }
        server.add(interface, at: PanelItem.path)
        server.add(menu.interface, at: PanelMenu.path)
        service = Service(connection: opened, callers: callers, server: server, menu: menu)
        return service
    }

    private func execute(_ command: Command) {
        onCommand(command, token)
        token = ""
    }

    private var interface: Interface {
        func method(
            _ name: String, _ inputs: Arguments, _ handler: @escaping @LoopActor (PanelItem, MethodCall) -> Void
        ) -> Method {
            Method(name: name, inputs: inputs, outputs: [:], callers: TrustedCallers.all) { [weak self] call in
                if let self { handler(self, call) }
                call.reply()
            }
        }
        // The panel shows the menu.
        let nothing: @LoopActor (PanelItem, MethodCall) -> Void = { _, _ in }
        return Interface(
            name: PanelItem.interface,
            methods: [
                // From panels that do not show the menu for a click.
                method("Activate", ["x": "i", "y": "i"]) { item, _ in item.execute(.openPermissions) },
                method("SecondaryActivate", ["x": "i", "y": "i"], nothing),
                method("ContextMenu", ["x": "i", "y": "i"], nothing),
                method("Scroll", ["delta": "i", "orientation": "s"], nothing),
                method("ProvideXdgActivationToken", ["token": "s"]) { item, call in
                    item.token = call.arguments.first?.stringValue ?? ""
                },
            ],
            signals: [
                Signal("NewTitle", [:]), Signal("NewIcon", [:]), Signal("NewToolTip", [:]),
                Signal("NewStatus", ["status": "s"]),
            ],
            properties: properties, readers: TrustedCallers.all)
    }

    private var properties: [Property] {
        let noImages = Value.array(of: "(iiay)", [])
        return [
            Property("Category", "s") { _ in .string("Hardware") },
            Property("Id", "s") { _ in .string("permd-indicator") },
            Property("Title", "s") { [weak self] _ in .string(self?.view?.title ?? "") },
            Property("Status", "s") { _ in .string("Active") },
            Property("WindowId", "i") { _ in .int32(0) },
            Property("IconThemePath", "s") { _ in .string("") },
            Property("IconName", "s") { [weak self] _ in .string(self?.view?.icon ?? "") },
            Property("IconPixmap", "a(iiay)") { _ in noImages },
            Property("OverlayIconName", "s") { _ in .string("") },
            Property("OverlayIconPixmap", "a(iiay)") { _ in noImages },
            Property("AttentionIconName", "s") { _ in .string("") },
            Property("AttentionIconPixmap", "a(iiay)") { _ in noImages },
            Property("AttentionMovieName", "s") { _ in .string("") },
            Property("ToolTip", "(sa(iiay)ss)") { [weak self] _ in
                .structure([
                    .string(self?.view?.icon ?? ""), noImages, .string(self?.view?.tooltip ?? ""), .string(""),
                ])
            },
            Property("ItemIsMenu", "b") { _ in .bool(true) },
            Property("Menu", "o") { _ in .objectPath(PanelMenu.path) },
        ]
    }
}
