// The installed apps, according to their desktop entries, for apps that permd has not seen yet.

import PermissionClient
import System

/// An app with the identity that it will have.
struct InstalledApp {
    let app: AppID
    /// The name for the user.
    let text: String
}

enum InstalledApps {
    /// After so many apps, a message lists no others.
    private static let most = 10

    /// The apps whose identity, name or program contains the text, whatever the case.
    static func matching(_ text: String) -> [InstalledApp] {
        var found: [InstalledApp] = []
        for path in AppDirectory.paths where found.count < most {
            guard let file = KeyFile(path: path), let name = path.split(separator: "/").last else { continue }
            func value(_ key: String) -> String { file.string(key, in: "Desktop Entry") ?? "" }
            let isWanted = [String(name), value("Name"), value("Exec"), value("X-Flatpak")]
                .contains { $0.lowercased().contains(text.lowercased()) }
            guard isWanted, value("Hidden") != "true", value("NoDisplay") != "true" else { continue }
            let id = name.dropLast(".desktop".count)
            found += apps(String(id), value).filter { new in !found.contains { $0.app == new.app } }
        }
        if text.hasPrefix("/"), let app = ProgramEntries.executable(text).flatMap(program) {
            found.append(InstalledApp(app: app, text: ""))
        }
        return found
    }

    private static func apps(_ id: String, _ value: (String) -> String) -> [InstalledApp] {
        let name = value("Name").isEmpty ? id : value("Name")
        for (kind, key) in [("flatpak", "X-Flatpak"), ("snap", "X-SnapInstanceName")] {
            if let app = AppID("\(kind):\(value(key))") { return [InstalledApp(app: app, text: name)] }
        }
        let app = ProgramEntries.program(of: value("Exec")).flatMap { program($0.path) }
        return app.map { [InstalledApp(app: $0, text: name)] } ?? []
    }

    /// The identity of an executable; nil for a script, whose identity depends on how it is started.
    private static func program(_ path: [UInt8]) -> AppID? {
        let start = (path + [0]).withUnsafeBytes {
            RegularFile.start(of: $0.bindMemory(to: CChar.self).baseAddress!, 4)
        }
        guard start == [0x7F] + Array("ELF".utf8) else { return nil }
        return .executable(StorePath.withoutVersion(path))
    }
}
