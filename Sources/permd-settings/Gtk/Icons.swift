// Names of icons in the icon theme. No other image is shown: a file that an app names as its icon could be made to
// exploit the library that decodes it.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
enum Icons {
    static let program = "application-x-executable"
    static let window = "org.permd.Settings"

    static func of(_ permission: Permission?) -> String {
        permission.map { PermissionText.of($0).icon } ?? "dialog-question-symbolic"
    }

    /// The icon of an app if the theme has it, else the one for programs.
    static func of(_ label: AppLabel) -> String {
        !label.icon.isEmpty && cadw_has_icon(label.icon) != 0 ? label.icon : program
    }
}
