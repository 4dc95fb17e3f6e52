// The name and icon of an app, from its desktop entry (Desktop Entry Specification).

import Glibc
import PermissionModel

/// Unsanitized text: apps provide their desktop entries.
struct AppEntry {
    var name: String
    var icon: String
}

enum AppDirectory {
    /// In bytes. Entries have a few KiB, or somewhat more with many translations.
    private static let maximumRead = 256 << 10

    static func entry(for app: AppID) -> AppEntry {
        let fallback = AppEntry(name: plainName(app), icon: "")
        guard app.kind != .exe else { return fallback }
        let name = app.kind == .snap ? "\(app.name)_\(app.name)" : app.name
        return folders(of: app.kind).lazy.compactMap { read("\($0)/\(name).desktop", fallback) }.first ?? fallback
    }

    /// Whether the app has a desktop entry that this process can access.
    static func hasEntry(_ app: AppID) -> Bool {
        folders(of: app.kind).contains { access("\($0)/\(app.name).desktop", F_OK) == 0 }
    }

    /// The file name of a program, or of the script that it runs; for other kinds of app the ID.
    static func plainName(_ app: AppID) -> String {
        guard app.kind == .exe else { return app.name }
        let path = app.name.split(separator: ":").last ?? ""
        return path.split(separator: "/").last.map(String.init) ?? app.name
    }

    private static func folders(of kind: AppID.Kind) -> [String] {
        let home = variable("HOME") ?? "/"
        let data = variable("XDG_DATA_HOME") ?? home + "/.local/share"
        let shared = (variable("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share").split(separator: ":").map(String.init)
        switch kind {
        case .flatpak:
            return [data + "/flatpak/exports/share/applications", "/var/lib/flatpak/exports/share/applications"]
        case .snap: return ["/var/lib/snapd/desktop/applications"]
        // Relative paths are ignored (XDG Base Directory Specification).
        case .desktop, .exe: return ([data] + shared).filter { $0.hasPrefix("/") }.map { $0 + "/applications" }
        }
    }

    private static func read(_ path: String, _ fallback: AppEntry) -> AppEntry? {
        guard let bytes = try? RegularFile.read(path, maximum: maximumRead) else { return nil }
        return parse(bytes, language: language(), fallback)
    }

    /// Reads `Name`, in the given language if there is a translation, and `Icon` of the group [Desktop Entry]. Works on
    /// bytes, as GKeyFile does: only LF and CR LF end a line. A value that is not UTF-8 is ignored.
    static func parse(_ bytes: [UInt8], language: String, _ fallback: AppEntry) -> AppEntry {
        var entry = fallback
        var nameRank = 0
        var isEntry = false
        let short = language.prefix { $0 != "_" }
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let line = trimmed(line)
            if line.first == UInt8(ascii: "[") {
                isEntry = line.elementsEqual("[Desktop Entry]".utf8)
                continue
            }
            guard isEntry, let equals = line.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let key = String(decoding: trimmed(line[..<equals]), as: UTF8.self)
            let rank = key == "Name[\(language)]" ? 3 : key == "Name[\(short)]" ? 2 : key == "Name" ? 1 : 0
            guard rank > nameRank || key == "Icon", let value = value(trimmed(line[(equals + 1)...])) else { continue }
            if rank == 0 {
                entry.icon = value
            } else {
                entry.name = value
                nameRank = rank
            }
        }
        return entry
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard let end = bytes.lastIndex(where: { !isSpace($0) }) else { return [] }
        return bytes[...end].drop(while: isSpace)
    }

    /// Resolves escape sequences (Desktop Entry Specification). Returns nil if the value is empty or not UTF-8.
    private static func value(_ bytes: ArraySlice<UInt8>) -> String? {
        let escapes: [UInt8: UInt8] = [
            UInt8(ascii: "s"): 0x20, UInt8(ascii: "n"): 0x0A, UInt8(ascii: "t"): 0x09, UInt8(ascii: "r"): 0x0D,
            UInt8(ascii: "\\"): UInt8(ascii: "\\"),
        ]
        var out: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let next = rest.first, let meant = escapes[next] {
                out.append(meant)
                rest.removeFirst()
            } else {
                out.append(byte)
            }
        }
        guard let text = String(validating: out, as: UTF8.self), !text.isEmpty, !text.utf8.contains(0) else {
            return nil
        }
        return text
    }

    private static func language() -> String {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(variable).first { !$0.isEmpty } ?? ""
        return String(locale.prefix { $0 != "." && $0 != "@" })
    }

    private static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
