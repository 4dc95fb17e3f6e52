// The installed apps, according to their desktop entries, for apps that permd has not seen yet.

import PermissionClient
import System

/// An app with the identity that it will have.
struct InstalledApp {
    let app: AppID
    /// The name for the user.
    let text: String

    /// Whether the text is its whole name, whatever the case.
    func isNamed(_ name: String) -> Bool {
        [app.name, app.shortName, text].contains { $0.lowercased() == name.lowercased() }
    }

    fileprivate func mentions(_ part: String) -> Bool {
        [app.name, text].contains { $0.lowercased().contains(part.lowercased()) }
    }
}

enum InstalledApps {
    /// The apps whose identity or name contains the text, whatever the case.
    static func matching(_ text: String) -> [InstalledApp] {
        var found: [InstalledApp] = []
        for path in AppDirectory.paths {
            guard let file = KeyFile(path: path), let name = path.split(separator: "/").last else { continue }
            func value(_ key: String) -> String { file.string(key, in: "Desktop Entry") ?? "" }
            guard value("Hidden") != "true", value("NoDisplay") != "true",
                let app = app(String(name.dropLast(".desktop".count)), value), app.mentions(text),
                !found.contains(where: { $0.app == app.app })
            else { continue }
            found.append(app)
        }
        return found
    }

    private static func app(_ id: String, _ value: (String) -> String) -> InstalledApp? {
        let name = value("Name").isEmpty ? id : value("Name")
        for (kind, key) in [("flatpak", "X-Flatpak"), ("snap", "X-SnapInstanceName")] {
            if let app = AppID("\(kind):\(value(key))") { return InstalledApp(app: app, text: name) }
        }
        guard let (path, arguments) = ProgramEntries.program(of: value("Exec")),
            case .app(let app) = ProgramFile(path, arguments)
        else { return nil }
        return InstalledApp(app: app, text: name)
    }
}
