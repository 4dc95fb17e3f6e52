// The words of the settings window.

import PermissionClient
import PermissionTexts

extension Texts {
    static func list(_ permissions: [Permission]) -> String { permissions.map(name).joined(separator: ", ") }

    static func name(_ item: PromptItem) -> String {
        switch item {
        case .permission(let permission): name(permission)
        case .portal(.background): Texts.text("Running in the Background")
        case .portal(.screenshot): Texts.text("Screenshots")
        case .portal(.speakers): Texts.text("Speakers")
        case .portal(.wallpaper): Texts.text("Wallpaper")
        case .portal(.other): Texts.text("Another Question")
        }
    }

    static func name(_ outcome: Outcome) -> String {
        switch outcome {
        case .granted: Texts.text("Allowed")
        case .denied: Texts.text("Not Allowed")
        case .dismissed: Texts.text("Not Now")
        case .restricted: Texts.text("Forbidden by the administrator")
        case .unavailable: Texts.text("No Device")
        case .withdrawn: Texts.text("Withdrawn by the app")
        case .failed: Texts.text("Failed")
        case .reset: Texts.text("Forgotten")
        case .used: Texts.text("Used")
        case .bypassed: Texts.text("Cut Off")
        case .off: Texts.text("Switched off")
        case .on: Texts.text("Switched on")
        case .unknown: Texts.text("Something a newer permd knows")
        }
    }

    /// How it came to an outcome.
    static func author(_ author: Author) -> String {
        switch author {
        case .person: Texts.text("by you")
        case .permctl: Texts.text("with permctl")
        case .administrator: Texts.text("by an administrator's rule")
        case .timeout: Texts.text("without an answer in time")
        case .throttle: Texts.text("while questions were paused")
        case .unused: Texts.text("because nobody used it")
        case .nobody: ""
        }
    }
}
