// Text in the person's language, from the catalogs in po/.

import CLinux
import Glibc
public import PermissionClient

/// Translates the texts of the programs that people see, with gettext(3).
public enum Texts {
    private static let domain = "permd"

    /// Sets the locale from the environment, and finds the catalogs: in `$PERMD_LOCALE_DIR`, else relative to the
    /// program (`../share/locale`), else the system's.
    public static func bind() {
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
    public static func text(_ key: String, _ values: String...) -> String { filled(pattern(key), values) }

    /// The string in the person's language, with its `%@`.
    public static func pattern(_ key: String) -> String {
        // Without a translation, dgettext(3) returns the pointer it was given, so the result is copied here.
        key.withCString { String(cString: dgettext(domain, $0)) }
    }

    /// Replaces each `%@` in order.
    public static func filled(_ pattern: String, _ values: [String]) -> String {
        let pieces = pattern.split(separator: "%@", omittingEmptySubsequences: false)
        var result = ""
        for (index, piece) in pieces.enumerated() {
            if index > 0 { result += index <= values.count ? values[index - 1] : "" }
            result += piece
        }
        return result
    }

    /// Isolates the text direction of a name from its surroundings (Unicode FSI and PDI).
    public static func isolated(_ name: String) -> String { "\u{2068}\(name)\u{2069}" }

    public static func name(_ permission: Permission) -> String { text(PermissionText.of(permission).name) }

    /// A time in the person's language and time zone, as strftime(3) writes it.
    public static func time(_ seconds: EpochSeconds, _ pattern: String = "%c") -> String {
        var time = time_t(clamping: seconds)
        var local = tm()
        guard localtime_r(&time, &local) != nil else { return String(seconds) }
        var buffer = [CChar](repeating: 0, count: 256)
        let length = strftime(&buffer, buffer.count, pattern, &local)
        return String(decoding: buffer[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
