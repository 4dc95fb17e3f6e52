// The name and the icon of an app, from its desktop entry (Desktop Entry Specification).

import CAdwaita
import Glibc
import PermissionClient
import Synchronization

/// What a person knows an app by. Apps provide it, so it is only shown after `SafeText` has cleaned it.
struct AppLook: Sendable, Hashable {
    var name: String
    /// A name in the icon theme; empty if there is none. Files that an app names as its icon are not read.
    var icon: String
}

/// Reads desktop entries once each. May be used on any thread.
final class AppNames: Sendable {
    private let known = Mutex<[AppID: AppLook]>([:])

    func look(_ app: AppID) -> AppLook {
        if let look = known.withLock({ $0[app] }) { return look }
        let look = AppNames.read(app)
        known.withLock { $0[app] = look }
        return look
    }

    /// In bytes. Entries have a few KiB, or somewhat more with many translations.
    private static let maximumRead = 256 << 10

    private static func read(_ app: AppID) -> AppLook {
        let plain = AppLook(name: SafeText.title(plainName(app)), icon: "")
        guard app.kind != .exe else { return plain }
        let file = app.kind == .snap ? "\(app.name)_\(app.name)" : app.name
        for folder in folders(of: app.kind) {
            guard let bytes = content("\(folder)/\(file).desktop") else { continue }
            return parse(bytes, plain)
        }
        return plain
    }

    /// The file name of a program, or of the script that it runs; for other kinds of app the ID.
    private static func plainName(_ app: AppID) -> String {
        guard app.kind == .exe else { return app.name }
        let path = app.name.split(separator: ":").last ?? ""
        return path.split(separator: "/").last.map(String.init) ?? app.name
    }

    private static func folders(of kind: AppID.Kind) -> [String] {
        let data = String(cString: g_get_user_data_dir())
        switch kind {
        case .flatpak:
            return [data + "/flatpak/exports/share/applications", "/var/lib/flatpak/exports/share/applications"]
        case .snap: return ["/var/lib/snapd/desktop/applications"]
        case .desktop, .exe:
            var folders = [data]
            var next = g_get_system_data_dirs()
            while let folder = next?.pointee {
                folders.append(String(cString: folder))
                next = next?.advanced(by: 1)
            }
            return folders.map { $0 + "/applications" }
        }
    }

    /// Reads a regular file, and never waits for another.
    private static func content(_ path: String) -> [UInt8]? {
        let fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard fd >= 0 else { return nil }
        defer { close(fd) }
        var status = stat()
        guard fstat(fd, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= maximumRead else {
            return nil
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        let count = Glibc.read(fd, &bytes, bytes.count)
        return count > 0 ? Array(bytes[..<count]) : nil
    }

    static func parse(_ bytes: [UInt8], _ plain: AppLook) -> AppLook {
        guard let file = g_key_file_new() else { return plain }
        defer { g_key_file_unref(file) }
        let isRead = bytes.withUnsafeBytes {
            g_key_file_load_from_data(
                file, $0.bindMemory(to: CChar.self).baseAddress, gsize($0.count), G_KEY_FILE_KEEP_TRANSLATIONS, nil)
        }
        guard isRead != 0 else { return plain }
        func value(_ key: String) -> String {
            guard let text = g_key_file_get_locale_string(file, "Desktop Entry", key, nil, nil) else { return "" }
            defer { g_free(text) }
            return String(cString: text)
        }
        let name = SafeText.title(value("Name"))
        let icon = value("Icon")
        return AppLook(name: name.isEmpty ? plain.name : name, icon: icon.contains("/") ? "" : icon)
    }
}
