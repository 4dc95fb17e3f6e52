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
    ///
    /// - Parameter other: What is read with them, which is nil then.
    @LoopActor
    package static func entries<Other: Sendable>(
        of apps: Set<AppID>, by worker: Worker, with other: @escaping @Sendable () -> Other?,
        _ completion: @escaping @LoopActor ([AppID: AppEntry], Other?) -> Void
    ) {
        worker.run(about: "desktop entries", deadline: deadline) {
            (Dictionary(uniqueKeysWithValues: apps.map { ($0, entry(for: $0)) }), other())
        } then: {
            let plain = Dictionary(uniqueKeysWithValues: apps.map { ($0, plainEntry($0)) })
            completion($0?.0 ?? plain, $0?.1)
        }
    }

    @LoopActor
    package static func entries(
        of apps: Set<AppID>, by worker: Worker, _ completion: @escaping @LoopActor ([AppID: AppEntry]) -> Void
    ) {
        entries(of: apps, by: worker, with: { () -> Void? in nil }, { entries, _ in completion(entries) })
    }

    /// The name in the entry with this ID, if it is another one than that of a program. May block.
    package static func name(ofStarter id: String, of app: AppID) -> String? {
        let file = "\(id).desktop"
        guard app.kind == .exe, ProgramEntries.path(of: app)?.hasSuffix("/\(file)") != true else { return nil }
        return folders(of: .exe).lazy.compactMap { read("\($0)/\(file)", AppEntry(name: "", icon: "")) }.first
            .flatMap { $0.name.isEmpty ? nil : $0.name }
    }

    private static func plainEntry(_ app: AppID) -> AppEntry { AppEntry(name: plainName(app), icon: "") }

    /// May block.
    package static func entry(for app: AppID) -> AppEntry {
        let fallback = plainEntry(app)
        guard app.kind != .exe else {
            return ProgramEntries.path(of: app).flatMap { read($0, fallback) } ?? fallback
        }
        let name = app.kind == .snap ? "\(app.name)_\(app.name)" : app.name
        return folders(of: app.kind).lazy.compactMap { read("\($0)/\(name).desktop", fallback) }.first ?? fallback
    }

    /// The file name of a program, or of the file that it runs; for other kinds of app the ID.
    package static func plainName(_ app: AppID) -> String {
        guard app.kind == .exe else { return app.name }
        let path = app.name.split(separator: ":").last ?? ""
        guard let name = path.split(separator: "/").last else { return app.name }
        // Nix and Guix wrap programs: cheese starts .cheese-wrapped.
        let ends = ["-wrapped", "-real"].filter(name.hasSuffix)
        return String(name.first == "." ? ends.first.map { name.dropFirst().dropLast($0.count) } ?? name : name)
    }

    /// The paths of all desktop entries; of an app there may be several.
    package static var paths: [String] {
        AppID.Kind.allCases.flatMap(folders).flatMap { folder in
            Folders.names(in: folder).filter { $0.hasSuffix(".desktop") }.map { "\(folder)/\($0)" }
        }
    }

    static func folders(of kind: AppID.Kind) -> [String] {
        switch kind {
        case .flatpak:
            ["\(Folders.data)/flatpak/exports/share/applications", "/var/lib/flatpak/exports/share/applications"]
        case .snap: ["/var/lib/snapd/desktop/applications"]
        case .exe: ([Folders.data] + Folders.datas).map { "\($0)/applications" }
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
