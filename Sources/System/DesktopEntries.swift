// The name and icon of an app, from its desktop entry (Desktop Entry Specification).

import DBus
import Glibc
package import PermissionModel

/// Unsanitized text: apps provide their desktop entries.
package struct AppEntry: Sendable {
    package var name: String
    package var icon: String

    package init(name: String, icon: String) { (self.name, self.icon) = (name, icon) }
}

package enum AppDirectory {
    /// In bytes. Entries have a few KiB, or somewhat more with many translations.
    private static let maximumRead = 256 << 10

    /// Milliseconds that a prompt waits for the names in it.
    private static let deadline: Int64 = 1000

    /// Reads entries by the worker. If that takes too long, all apps have their plain names. The results of several
    /// calls come in the order of the calls.
    @LoopActor
    package static func entries(
        of apps: Set<AppID>, by worker: Worker, _ completion: @escaping @LoopActor ([AppID: AppEntry]) -> Void
    ) {
        worker.run(about: "desktop entries", deadline: deadline) {
            Dictionary(uniqueKeysWithValues: apps.map { ($0, entry(for: $0)) })
        } then: {
            completion($0 ?? Dictionary(uniqueKeysWithValues: apps.map { ($0, plainEntry($0)) }))
        }
    }

    private static func plainEntry(_ app: AppID) -> AppEntry { AppEntry(name: plainName(app), icon: "") }

    /// May block.
    package static func entry(for app: AppID) -> AppEntry {
        let fallback = plainEntry(app)
        guard app.kind != .exe else { return fallback }
        let name = app.kind == .snap ? "\(app.name)_\(app.name)" : app.name
        return folders(of: app.kind).lazy.compactMap { read("\($0)/\(name).desktop", fallback) }.first ?? fallback
    }

    /// Whether the app has a desktop entry that this process can access.
    package static func hasEntry(_ app: AppID) -> Bool {
        folders(of: app.kind).contains { access("\($0)/\(app.name).desktop", F_OK) == 0 }
    }

    /// The file name of a program, or of the script that it runs; for other kinds of app the ID.
    package static func plainName(_ app: AppID) -> String {
        guard app.kind == .exe else { return app.name }
        let path = app.name.split(separator: ":").last ?? ""
        return path.split(separator: "/").last.map(String.init) ?? app.name
    }

    /// The paths of all desktop entries; of an app there may be several.
    package static var paths: [String] {
        [AppID.Kind.desktop, .flatpak, .snap].flatMap(folders).flatMap { folder in
            Folders.names(in: folder).filter { $0.hasSuffix(".desktop") }.map { "\(folder)/\($0)" }
        }
    }

    private static func folders(of kind: AppID.Kind) -> [String] {
        switch kind {
        case .flatpak:
            ["\(Folders.data)/flatpak/exports/share/applications", "/var/lib/flatpak/exports/share/applications"]
        case .snap: ["/var/lib/snapd/desktop/applications"]
        case .desktop, .exe: ([Folders.data] + Folders.datas).map { "\($0)/applications" }
        }
    }

    private static func read(_ path: String, _ fallback: AppEntry) -> AppEntry? {
        guard let bytes = try? RegularFile.read(path, maximum: maximumRead) else { return nil }
        return parse(bytes, language: language(), fallback)
    }

    /// Reads `Name`, in the given language if there is a translation, and `Icon` of the group [Desktop Entry]. A value
    /// that is empty or not UTF-8 is ignored, as is a file that is not a valid key file.
    package static func parse(_ bytes: [UInt8], language: String, _ fallback: AppEntry) -> AppEntry {
        guard let file = try? KeyFile(bytes) else { return fallback }
        func value(_ keys: String...) -> String? {
            keys.lazy.compactMap { file.string($0, in: "Desktop Entry") }.first { !$0.isEmpty }
        }
        let name = value("Name[\(language)]", "Name[\(language.prefix { $0 != "_" })]", "Name")
        return AppEntry(name: name ?? fallback.name, icon: value("Icon") ?? fallback.icon)
    }

    private static func language() -> String {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap(Folders.variable).first ?? ""
        return String(locale.prefix { $0 != "." && $0 != "@" })
    }
}
