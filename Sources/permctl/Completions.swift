// What the shells offer for apps and times, and the completion scripts.

import ArgumentParser
import PermissionClient
import PermissionTexts

enum Completions {
    /// The apps that permd knows: their identities, or, once the word is none of them, their short names.
    static let apps = CompletionKind.custom { _, _, prefix in
        await offer(prefix, words: [])
    }

    /// The same, and the permissions, which `reset` also takes in this place.
    static let appsAndPermissions = CompletionKind.custom { _, _, prefix in
        await offer(prefix, words: Permission.allCases.map(\.rawValue))
    }

    static let spans = CompletionKind.list(["15m", "30m", "1h", "2h", "4h", "8h", "1d", "1w"])
    static let ends = CompletionKind.list(["12:00", "18:00", "22:00", "00:00"])
    static let starts = CompletionKind.list(["1h", "1d", "2d", "1w", "4w"])

    /// Without permd there is nothing to offer; the shell shows no errors while it completes.
    private static func offer(_ prefix: String, words: [String]) async -> [String] {
        let apps = (try? await AppName.known(PermissionSettings())) ?? []
        let found = words + candidates(prefix, apps)
        return switch CompletionShell.requesting {
        // It splits words at colons, and expands them: compgen -W would run a command that stands in a name.
        case .bash?: found.filter { ShellWord.isPlain($0) && !$0.contains(":") }
        // A colon separates a word from its description.
        case .zsh?: found.map { $0.replacing(":", with: "\\:") }
        default: found
        }
    }

    /// Only names that stand for a single app are offered.
    static func candidates(_ prefix: String, _ apps: [AppID]) -> [String] {
        // A shell may pass the word with its quotes or escapes.
        let typed = prefix.filter { !"\"'\\".contains($0) }
        let identities = apps.map(\.description).filter { $0.hasPrefix(typed) }
        guard identities.isEmpty || typed.isEmpty else { return identities }
        let names = ShortNames(apps)
        return apps.compactMap { app in names.isUnique(app) ? app.shortName : nil }
            .filter { $0.hasPrefix(typed) }.sorted() + identities
    }
}

/// Which apps are told apart by their short names.
struct ShortNames {
    private let counts: [String: Int]

    init(_ apps: some Sequence<AppID>) { counts = Dictionary(Set(apps).map { ($0.shortName, 1) }, uniquingKeysWith: +) }

    func isUnique(_ app: AppID) -> Bool { (counts[app.shortName] ?? 0) <= 1 }
}
