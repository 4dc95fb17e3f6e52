// An app as named on the command line: its identity, or a part of it.

import ArgumentParser
import PermissionClient
import System

/// An app as named on the command line, not yet resolved to an identity.
struct AppName: ExpressibleByArgument {
    let text: String

    init(_ text: String) { self.text = text }
    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        text = argument
    }

    /// Returns a full identity unchanged, even that of an unknown app; for a path, what the program there is when it runs;
    /// otherwise the only app with that name among those that permd knows, then among the installed ones, or the only one
    /// whose name contains the text.
    func resolve(_ settings: PermissionSettings) async throws -> AppID {
        if let app = AppID(text) {
            // An identity is shown with more escapes than it has.
            guard text.contains("%") || text.contains("\\u{") else { return app }
            return try await AppName.known(settings).first(where: isShown) ?? app
        }
        try AppName.checkForm(text)
        return try AppName.choose(text, among: try await AppName.known(settings))
    }

    /// Whether the text is how prompts or permctl show this app's identity.
    private func isShown(_ app: AppID) -> Bool {
        let identity = app.description
        return [SafeText.identity(identity), TerminalText(identity).text].contains(text)
    }

    /// Whether the text is the identity or the whole name of the app, not a part of it.
    func isWhole(of app: AppID) -> Bool { [app.description, app.name, app.shortName].contains(text) }

    static func choose(_ text: String, among known: [AppID]) throws -> AppID {
        let seen = known.filter { $0.name == text || $0.shortName == text }
        if !seen.isEmpty { return try only(seen.map { InstalledApp(app: $0, text: "") }, text) }
        if text.hasPrefix("/"), let real = Folders.realPath(text) { return try program(at: text, real) }
        let installed = InstalledApps.matching(text)
        let named = installed.filter { $0.isNamed(text) }
        if !named.isEmpty { return try only(named, text) }
        let parts = known.filter { $0.name.contains(text) }.map { InstalledApp(app: $0, text: "") }
        return try only(parts.isEmpty ? installed : parts, text)
    }

    /// What a program is when it runs. What a script of a shell starts is told by its name, as `/usr/bin/firefox` starts
    /// `/usr/lib/firefox/firefox`.
    private static func program(at path: String, _ real: [UInt8]) throws -> AppID {
        switch ProgramFile(real) {
        case .app(let app): return app
        case .unknown: throw Failure(.no, "\(path) is no program whose identity is known before it runs")
        case .wrapper:
            let name = Folders.fileName(of: real)
            let started = InstalledApps.matching(name).filter { $0.app.kind == .exe && $0.isNamed(name) }
            guard started.count == 1 else {
                throw Failure(
                    .no,
                    """
                    \(path) is a script, and the program that it starts has an identity of its own; permctl status shows \
                    it once the program has asked, and permctl in-use while it uses a device
                    """)
            }
            Output.errorLines("\(path) is a script, which starts \(started[0].app)")
            return started[0].app
        }
    }

    /// So many candidates are listed at most.
    private static let mostListed = 10

    /// - Throws: ``Failure`` unless there is one, with the candidates.
    private static func only(_ apps: [InstalledApp], _ text: String) throws -> AppID {
        guard apps.count != 1 else { return apps[0].app }
        guard !apps.isEmpty else {
            throw Failure(
                .no,
                """
                no app that permd knows or that is installed matches “\(text)”; write the identity of another one as \
                flatpak:ID, snap:NAME or exe:/path
                """)
        }
        let width = apps.map { TerminalText($0.app.description).columns }.max() ?? 0
        let lines = apps.prefix(mostListed).map { app -> TerminalText in
            let identity = TerminalText(app.app.description)
            return app.text.isEmpty
                ? "  \(identity)" : "  \(identity)\(TerminalText.spaces(width - identity.columns))  \(app.text)"
        }
        let rest = apps.count - lines.count
        let list = (lines + (rest > 0 ? ["  and \(rest) more"] : [])).joined(separator: "\n")
        throw Failure(.usage, "“\(text)” matches several apps; give the full identity of one:\n\(list)")
    }

    /// - Throws: ``Failure`` for a text with the prefix of an identity that is none.
    private static func checkForm(_ text: String) throws {
        let prefix = text.prefix { $0 != ":" }
        guard prefix.count < text.count, let kind = AppID.Kind(rawValue: String(prefix)) else { return }
        let form: TerminalText =
            switch kind {
            case .exe: "exe: is followed by the absolute path of a program, with %3A for : and %25 for %"
            case .flatpak: "flatpak: is followed by the app's ID, as flatpak list shows it"
            case .snap: "snap: is followed by the snap's name, as snap list shows it"
            }
        throw Failure(.no, "“\(text)” is not an app's identity; \(form)")
    }

    static func known(_ settings: PermissionSettings) async throws -> [AppID] {
        var apps = Set(try await settings.decisions().map(\.app))
        apps.formUnion(try await settings.requests().map(\.app))
        // Recent entries are enough: people abbreviate only the names of apps they saw lately.
        apps.formUnion(try await settings.history(limit: 1000).compactMap(\.app))
        return apps.sorted()
    }
}

extension AppID {
    /// The identity that the program has when it runs, for which links are followed (realpath(3)); itself if there are no
    /// such files.
    func followingLinks() -> AppID {
        let files = paths.compactMap { Folders.realPath($0) }.map(StorePath.withoutVersion)
        guard let program = files.first, files.count == paths.count else { return self }
        return .executable(program, script: files.dropFirst().first)
    }

    /// Last parts of IDs that say nothing about the app, such as that of `org.telegram.desktop`.
    private static let general: Set<Substring> = [
        "desktop", "Desktop", "app", "App", "client", "Client", "application",
    ]

    /// `firefox` for `exe:/usr/bin/firefox`, `Maps` for `flatpak:org.gnome.Maps`.
    var shortName: String {
        if kind == .exe { return AppDirectory.plainName(self) }
        let parts = name.split(separator: ".")
        guard let last = parts.last else { return name }
        return parts.count > 1 && AppID.general.contains(last) ? "\(parts[parts.count - 2]).\(last)" : String(last)
    }
}
