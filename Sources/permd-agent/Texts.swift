// All text that the agent shows, translated with gettext.

import CGtk
import Glibc
import PermissionClient

enum Texts {
    static let domain = "permd"

    /// All strings in English, which are the keys of the catalogs in po/.
    static let all = [
        "Permission request", "%@ says:", "%@ would like to use the camera", "%@ would like to use the microphone",
        "%@ would like to use Bluetooth", "%@ would like to know your location", "Device: %@", "The app says: %@",
        "The request says: %@",
        "The app does not say why.", "%@ of %@", "Waiting behind this: %@", "Unknown program: %@", "In a sandbox",
        "Don't Allow", "Only This Time", "Until I Log Out", "Always Allow", "Allow All, Only This Time", "Continue",
        "Not Now", "Previous", "Next", "Allow", "How long", "Decides nothing; you may be asked again",
        "Holds until you change it in the settings", "Holds until the app is closed", "Holds until you log out",
    ]

    /// Finds the catalogs: in `$PERMD_LOCALE_DIR`, else relative to the program (`../share/locale`), else the system's.
    static func bind() {
        setlocale(LC_ALL, "")
        var folders = ["/usr/share/locale"]
        if let beside = beside() { folders.insert(beside, at: 0) }
        if let chosen = getenv("PERMD_LOCALE_DIR") { folders.insert(String(cString: chosen), at: 0) }
        let folder = folders.first { access($0, R_OK) == 0 }
        bindtextdomain(domain, folder)
        bind_textdomain_codeset(domain, "UTF-8")
    }

    private static func beside() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let length = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
        let parts = String(decoding: buffer[..<length], as: UTF8.self).split(separator: "/").dropLast(2)
        return "/" + parts.joined(separator: "/") + "/share/locale"
    }

    /// The string in the person's language, with each `%@` replaced in order. Values are never used as formats.
    static func text(_ key: String, _ values: String...) -> String {
        // Without a translation, dgettext(3) returns the pointer it was given, so the result is copied here.
        let translated = key.withCString { String(cString: dgettext(domain, $0)) }
        let pieces = translated.split(separator: "%@", omittingEmptySubsequences: false)
        var result = ""
        for (index, piece) in pieces.enumerated() {
            if index > 0 { result += index <= values.count ? values[index - 1] : "" }
            result += piece
        }
        return result
    }

    static func question(_ item: AgentPrompt.Item, _ name: String) -> String {
        switch item.question.permission {
        case .camera: text("%@ would like to use the camera", name)
        case .microphone: text("%@ would like to use the microphone", name)
        case .bluetooth: text("%@ would like to use Bluetooth", name)
        case .location: text("%@ would like to know your location", name)
        case nil: item.dialog?.title ?? ""
        }
    }

    /// The line that shows the path of a program without a desktop entry; nil for other apps.
    static func unknownProgram(_ prompt: AgentPrompt) -> String? {
        guard prompt.app.hasPrefix("exe:") else { return nil }
        return text("Unknown program: %@", isolated(String(prompt.app.dropFirst("exe:".count))))
    }

    /// The app's reason, marked as the app's words, or the text of a portal's dialog, which may come from the app as
    /// well.
    static func reason(_ item: AgentPrompt.Item) -> String {
        if item.dialog != nil {
            let words = item.portalWords
            return words.isEmpty ? "" : text("The request says: %@", isolated("“\(words)”"))
        }
        guard !item.reason.isEmpty else { return text("The app does not say why.") }
        return text("The app says: %@", isolated("“\(item.reason)”"))
    }

    /// The label of a choice. A portal that stores the answer itself may supply its own label.
    static func label(_ choice: PromptChoice, _ item: AgentPrompt.Item) -> String {
        if let own = item.portalLabel(choice) { return own }
        return item.isOfPortal && choice != .deny ? text("Allow") : label(choice)
    }

    static func label(_ choice: PromptChoice) -> String {
        switch choice {
        case .deny: text("Don't Allow")
        case .once: text("Only This Time")
        case .session: text("Until I Log Out")
        case .always: text("Always Allow")
        }
    }

    /// The description that a screen reader adds to a button's label.
    static func description(_ choice: PromptChoice) -> String {
        switch choice {
        case .deny, .always: text("Holds until you change it in the settings")
        case .once: text("Holds until the app is closed")
        case .session: text("Holds until you log out")
        }
    }

    /// Isolates the text direction of a name from its surroundings (Unicode FSI and PDI).
    static func isolated(_ name: String) -> String { "\u{2068}\(name)\u{2069}" }
}
