// Opens permd-settings, the window Permissions, through the bus (Desktop Entry Specification, "D-Bus Activation"): a
// program that the caller started itself would be limited by the caller's unit and would end with it.

import DBus

extension PermissionSettings {
    /// Whether the bus can start the window.
    package func hasWindow() async -> Bool {
        (try? await BusLink.shared(bus, identifiesDaemon: true).canStart(BusLink.window)) == true
    }

    /// - Parameters:
    ///   - app: The app whose page is shown; nil for the whole window.
    ///   - token: Lets the window come to the front (xdg-activation); may be empty.
    package func openWindow(at app: String? = nil, token: String) async {
        try? await BusLink.shared(bus, identifiesDaemon: true).openWindow(app, token)
    }
}

extension BusLink {
    fileprivate static let window = "org.permd.Settings"

    fileprivate func openWindow(_ app: String?, _ token: String) throws(ClientError) {
        var body: [Value] = [
            .properties(
                token.isEmpty ? [:] : ["activation-token": .string(token), "desktop-startup-id": .string(token)])
        ]
        if let app { body.insert(contentsOf: [.string("app"), .array(of: "v", [.variant(.string(app))])], at: 0) }
        try open().send(
            .call(
                destination: BusLink.window, path: "/org/permd/Settings", interface: "org.freedesktop.Application",
                member: app == nil ? "Activate" : "ActivateAction", body, noReply: true))
    }
}
