// The installed apps, according to their desktop entries, for apps that permd has not seen yet.

import Glibc
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
        if text.hasPrefix("/"), let program = program(text) { found.append(InstalledApp(app: program, text: "")) }
        return found
    }

    private static func apps(_ id: String, _ value: (String) -> String) -> [InstalledApp] {
        let name = value("Name").isEmpty ? id : value("Name")
        for (kind, key) in [("flatpak", "X-Flatpak"), ("snap", "X-SnapInstanceName")] {
            if let app = AppID("\(kind):\(value(key))") { return [InstalledApp(app: app, text: name)] }
        }
        let command = value("Exec").split(separator: " ").first.flatMap { program(String($0)) }
        return command.map { [InstalledApp(app: $0, text: name)] } ?? []
    }

    /// The identity of a command's program; nil for a script, whose identity depends on how it is started.
    private static func program(_ command: String) -> AppID? {
        let folders = (Folders.variable("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":")
        let paths = command.contains("/") ? [command] : folders.map { "\($0)/\(command)" }
        guard let path = paths.first(where: { access($0, X_OK) == 0 }), let real = realpath(path, nil) else {
            return nil
        }
        defer { free(real) }
        let fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard fd >= 0 else { return nil }
        defer { close(fd) }
        var magic = [UInt8](repeating: 0, count: 4)
        guard read(fd, &magic, 4) == 4, magic == [0x7F] + Array("ELF".utf8) else { return nil }
        return AppID.executable(UnsafeBufferPointer(start: real, count: strlen(real)).map { UInt8(bitPattern: $0) })
    }
}
