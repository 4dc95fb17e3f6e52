// How the settings program is opened (Desktop Entry Specification, "D-Bus Activation"): through the bus, because a program
// that the caller started itself would be limited by the caller's unit and would end with it.

package import DBus
import PermissionModel

extension Message {
    /// - Parameters:
    ///   - app: The app whose page is shown; nil for the whole window.
    ///   - token: Lets the window come to the front (xdg-activation); may be empty.
    package static func openSettings(at app: String?, token: String, noReply: Bool = false) -> Message {
        var body: [Value] = [
            .properties(
                token.isEmpty ? [:] : ["activation-token": .string(token), "desktop-startup-id": .string(token)])
        ]
        if let app { body.insert(contentsOf: [.string("app"), .array(of: "v", [.variant(.string(app))])], at: 0) }
        return .call(
            destination: BusNames.settingsService, path: "/org/permd/Settings",
            interface: "org.freedesktop.Application",
            member: app == nil ? "Activate" : "ActivateAction", body, noReply: noReply)
    }
}
