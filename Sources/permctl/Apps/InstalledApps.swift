// The installed apps, according to their desktop entries, for apps that permd has not seen yet.

import Glibc
import PermissionClient

/// An app with the identity that it will have.
struct InstalledApp: Hashable {
    let app: AppID
    /// The name for the user, and how the app has to be started to have this identity.
    let text: String
}

enum InstalledApps {
    /// The most apps that a message lists.
    static let most = 10

    /// The apps whose identity, name or program contains the text, whatever the case.
    static func matching(_ text: String) -> [InstalledApp] {
        var found: [InstalledApp] = []
        var seen: Set<AppID> = []
        for folder in folders {
            for file in Folders.names(in: folder) where file.hasSuffix(".desktop") {
                guard let content = Folders.text("\(folder)/\(file)"),
                    let entry = KeyFile(content).groups["Desktop Entry"]
                else { continue }
                let isWanted = [file, entry["Name"] ?? "", entry["Exec"] ?? "", entry["X-Flatpak"] ?? ""]
                    .contains { $0.lowercased().contains(text.lowercased()) }
                guard isWanted, entry["Hidden"] != "true", entry["NoDisplay"] != "true" else { continue }
                found += apps(file: file, entry).filter { seen.insert($0.app).inserted }
            }
        }
        if text.hasPrefix("/"), let program = program(text) { found.append(InstalledApp(app: program, text: "")) }
        return Array(found.prefix(most))
    }

    /// Folders of desktop entries, also those that flatpak and snap export where the environment does not list them.
    private static var folders: [String] {
        let exports = [
            "\(Folders.data)/flatpak/exports/share", "/var/lib/flatpak/exports/share", "/var/lib/snapd/desktop",
        ]
        var folders: [String] = []
        for folder in [Folders.data] + exports + Folders.datas where !folders.contains("\(folder)/applications") {
            folders.append("\(folder)/applications")
        }
        return folders
    }

    private static func apps(file: String, _ entry: [String: String]) -> [InstalledApp] {
        let id = String(file.dropLast(".desktop".count))
        let name = entry["Name"] ?? id
        if let flatpak = entry["X-Flatpak"], let app = AppID("flatpak:\(flatpak)") {
            return [InstalledApp(app: app, text: name)]
        }
        if let snap = entry["X-SnapInstanceName"], let app = AppID("snap:\(snap)") {
            return [InstalledApp(app: app, text: name)]
        }
        let desktop = AppID("desktop:\(id)").map { InstalledApp(app: $0, text: "\(name), started from the desktop") }
        let words = (entry["Exec"] ?? "").split(separator: " ")
        let command = words.first.flatMap { program(String($0)) }
        let other = command.map { InstalledApp(app: $0, text: "\(name), started in another way") }
        return [desktop, other].compactMap { $0 }
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
