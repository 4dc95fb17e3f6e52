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

    /// Returns a full identity unchanged, even that of an unknown app; otherwise the only known app whose identity
    /// after its prefix equals, ends in, or contains the text.
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

    static func choose(_ text: String, among apps: [AppID]) throws -> AppID {
        let exact = apps.filter { $0.name == text || $0.shortName == text }
        let matches = exact.isEmpty ? apps.filter { $0.name.contains(text) } : exact
        switch matches.count {
        case 1: return matches[0]
        case 0: throw unknown(text)
        default:
            let list = matches.map { TerminalText("  \($0)") }.joined(separator: "\n")
            throw Failure(.usage, "“\(text)” matches several apps; give the full identity of one:\n\(list)")
        }
    }

    /// Names the installed apps that the text may mean, with their identities.
    private static func unknown(_ text: String) -> Failure {
        let forms: TerminalText = "flatpak:ID, snap:NAME or exe:/path"
        let installed = InstalledApps.matching(text)
        guard !installed.isEmpty else {
            return Failure(
                .no, "no app that permd knows matches “\(text)”; write the identity of another one as \(forms)")
        }
        let width = installed.map { TerminalText($0.app.description).columns }.max() ?? 0
        let list = installed.map { app -> TerminalText in
            let identity = TerminalText(app.app.description)
            return app.text.isEmpty
                ? "  \(identity)" : "  \(identity)\(TerminalText.spaces(width - identity.columns))  \(app.text)"
        }
        return Failure(
            .no,
            """
            permd has not seen an app “\(text)” yet, so its full identity is needed. These are installed:
            \(list.joined(separator: "\n"))
            """)
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
    /// The identity that the program has when it runs, for which the kernel follows links to the executable (realpath(3)),
    /// but not to a script; itself if there is no such file.
    func followingLinks() -> AppID {
        guard let target = paths.first.flatMap({ Folders.realPath($0) }) else { return self }
        let program = AppID.executable(StorePath.withoutVersion(target))
        let script = String(Substring(name.utf8.drop { $0 != UInt8(ascii: ":") }))
        return AppID("\(program)\(script)") ?? self
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
