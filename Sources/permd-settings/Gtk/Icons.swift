// Names of icons in the icon theme. No other image is shown: a file that an app names as its icon could be made to
// exploit the library that decodes it.

import CAdwaita
import PermissionClient

@MainActor
enum Icons {
    static let program = "application-x-executable"
    static let window = "org.permd.Settings"

    private static let ofPermissions: [Permission: String] = [
        .camera: "camera-web-symbolic", .microphone: "audio-input-microphone-symbolic",
        .bluetooth: "bluetooth-symbolic", .location: "find-location-symbolic",
    ]

    static func of(_ permission: Permission?) -> String {
        permission.flatMap { ofPermissions[$0] } ?? "dialog-question-symbolic"
    }

    /// The icon of an app if the theme has it, else the one for programs.
    static func of(_ look: AppLook) -> String {
        !look.icon.isEmpty && cadw_has_icon(look.icon) != 0 ? look.icon : program
    }
}
