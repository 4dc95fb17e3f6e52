// All text that the window shows, translated with gettext.

import CAdwaita
import Glibc
import PermissionClient

enum Texts {
    static let domain = "permd-settings"

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
        filled(pattern(key), values)
    }

    /// The string in the person's language, with its `%@`.
    static func pattern(_ key: String) -> String {
        // Without a translation, dgettext(3) returns the pointer it was given, so the result is copied here.
        key.withCString { String(cString: dgettext(domain, $0)) }
    }

    static func filled(_ pattern: String, _ values: [String]) -> String {
        let pieces = pattern.split(separator: "%@", omittingEmptySubsequences: false)
        var result = ""
        for (index, piece) in pieces.enumerated() {
            if index > 0 { result += index <= values.count ? values[index - 1] : "" }
            result += piece
        }
        return result
    }

    /// Isolates the text direction of a name from its surroundings (Unicode FSI and PDI).
    static func isolated(_ name: String) -> String { "\u{2068}\(name)\u{2069}" }

    static func list(_ permissions: [Permission]) -> String { permissions.map(name).joined(separator: ", ") }

    static func name(_ permission: Permission) -> String {
        switch permission {
        case .camera: text("Camera")
        case .microphone: text("Microphone")
        case .bluetooth: text("Bluetooth")
        case .location: text("Location")
        }
    }

    static func name(_ question: Question) -> String {
        switch question {
        case .permission(let permission): name(permission)
        case .portal(.background): text("Running in the Background")
        case .portal(.screenshot): text("Screenshots")
        case .portal(.speakers): text("Speakers")
        case .portal(.wallpaper): text("Wallpaper")
        case .portal(.other): text("Another Question")
        }
    }

    static func name(_ outcome: Outcome) -> String {
        switch outcome {
        case .granted: text("Allowed")
        case .denied: text("Not Allowed")
        case .dismissed: text("Not Now")
        case .restricted: text("Forbidden by the administrator")
        case .unavailable: text("No Device")
        case .withdrawn: text("Withdrawn by the app")
        case .failed: text("Failed")
        case .reset: text("Forgotten")
        case .used: text("Used")
        case .bypassed: text("Cut Off")
        case .unknown: text("Something a newer permd knows")
        }
    }

    /// Why a use is not one that the person has allowed; nil if it is.
    static func objection(_ status: Status) -> String? {
        switch status {
        case .granted, .unavailable: nil
        case .denied: text("you have refused it")
        case .restricted: text("the administrator forbids it")
        case .undetermined: text("you were not asked")
        }
    }

    /// How it came to an outcome.
    static func author(_ author: Author) -> String {
        switch author {
        case .person: text("by you")
        case .permctl: text("in the settings or with permctl")
        case .administrator: text("by an administrator's rule")
        case .timeout: text("without an answer in time")
        case .guard: text("while questions were paused")
        case .nobody: ""
        }
    }
}
