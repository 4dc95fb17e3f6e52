// The name and icon a person knows an app by, from its desktop entry (Desktop Entry Specification).

import Glibc
import PermissionModel

/// Not yet safe to show: desktop entries are files of others.
struct AppEntry {
    var name: String
    var icon: String
}

struct AppDirectory {
    /// Entries are a few KiB.
    private static let maximumRead = 64 << 10

    func entry(for app: AppID) -> AppEntry {
        let fallback = AppEntry(name: AppDirectory.plainName(app), icon: "")
        guard app.kind != .exe else { return fallback }
        let names = app.kind == .snap ? ["\(app.name)_\(app.name).desktop"] : ["\(app.name).desktop"]
        for folder in AppDirectory.folders(of: app.kind) {
            for name in names {
                if let found = AppDirectory.read("\(folder)/\(name)", fallback) { return found }
            }
        }
        return fallback
    }

    /// Whether an app is installed with a desktop entry, as far as this process may look.
    static func hasEntry(_ app: AppID) -> Bool {
        folders(of: app.kind).contains { access("\($0)/\(app.name).desktop", F_OK) == 0 }
    }

    /// The last part of a program's path, or of the script it runs; for others the id.
    static func plainName(_ app: AppID) -> String {
        guard app.kind == .exe else { return app.name }
        let path = app.name.split(separator: ":").last ?? ""
        return path.split(separator: "/").last.map(String.init) ?? app.name
    }

    private static func folders(of kind: AppID.Kind) -> [String] {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        let home = variable("HOME") ?? "/"
        let data = variable("XDG_DATA_HOME") ?? home + "/.local/share"
        let shared = (variable("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share").split(separator: ":").map(String.init)
        switch kind {
        case .flatpak:
            return [data + "/flatpak/exports/share/applications", "/var/lib/flatpak/exports/share/applications"]
        case .snap: return ["/var/lib/snapd/desktop/applications"]
        case .desktop, .exe: return ([data] + shared).map { $0 + "/applications" }
        }
    }

    private static func read(_ path: String, _ fallback: AppEntry) -> AppEntry? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: maximumRead)
        let count = fread(&bytes, 1, bytes.count, file)
        guard let text = String(validating: bytes.prefix(count), as: UTF8.self) else { return nil }
        return parse(text, language: language(), fallback)
    }

    /// Reads `Name`, in the person's language where it is given, and `Icon` of the group [Desktop Entry].
    static func parse(_ text: String, language: String, _ fallback: AppEntry) -> AppEntry {
        var entry = fallback
        var nameRank = 0
        var isEntry = false
        let short = language.prefix { $0 != "_" }
        for line in text.split(whereSeparator: \.isNewline) {
            if line.hasPrefix("[") {
                isEntry = line == "[Desktop Entry]"
                continue
            }
            guard isEntry, let equals = line.firstIndex(of: "=") else { continue }
            let key = line[..<equals]
            let value = String(line[line.index(after: equals)...])
            let rank = key == "Name[\(language)]" ? 3 : key == "Name[\(short)]" ? 2 : key == "Name" ? 1 : 0
            if rank > nameRank, !value.isEmpty {
                entry.name = value
                nameRank = rank
            } else if key == "Icon" {
                entry.icon = value
            }
        }
        return entry
    }

    private static func language() -> String {
        for name in ["LC_ALL", "LC_MESSAGES", "LANG"] {
            if let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty {
                return String(value.prefix { $0 != "." && $0 != "@" })
            }
        }
        return ""
    }
}
