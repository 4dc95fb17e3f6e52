// What the shells offer for apps and times, and the completion scripts.

import ArgumentParser
import PermissionClient

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
        // In zsh a colon separates a word from its description.
        return CompletionShell.requesting == .zsh ? found.map { $0.replacing(":", with: "\\:") } : found
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

    /// Returns the completion script that the library has generated, adapted to identities of apps.
    ///
    /// Bash splits words at colons, as in `flatpak:org.gnome.Maps`, and the generated script then completes another
    /// argument. The function that is registered instead joins the words, and removes from each candidate what bash
    /// keeps on the line.
    static func adapted(_ script: String) -> String {
        let register = "complete -o filenames -F _permctl permctl"
        guard script.hasPrefix("#!/bin/bash"), script.contains(register) else { return script }
        return script.replacing(
            register,
            with: #"""
                _permctl_with_colons() {
                    local -a words=()
                    local -i index cword=0
                    local rest="${COMP_LINE}" previous=
                    for index in "${!COMP_WORDS[@]}"; do
                        local word="${COMP_WORDS[index]}"
                        local gap="${rest%%[^[:space:]]*}"
                        rest="${rest:${#gap}}"
                        rest="${rest#"${word}"}"
                        if ((index > 0)) && [[ -z "${gap}" && -n "${word}" && ("${word}" == :* || "${previous}" == *:) ]]; then
                            words[${#words[@]} - 1]+="${word}"
                        else
                            words+=("${word}")
                        fi
                        previous="${words[${#words[@]} - 1]}"
                        ((index == COMP_CWORD)) && cword=$((${#words[@]} - 1))
                    done
                    local current="${words[cword]}" before=
                    ((cword > 0)) && before="${words[cword - 1]}"
                    local -a COMP_WORDS=("${words[@]}")
                    local -i COMP_CWORD=cword
                    _permctl "$1" "${current}" "${before}"
                    if [[ "${current}" == *:* && "${COMP_WORDBREAKS}" == *:* ]]; then
                        local kept="${current%"${current##*:}"}"
                        for index in "${!COMPREPLY[@]}"; do
                            COMPREPLY[index]="${COMPREPLY[index]#"${kept}"}"
                        done
                    fi
                }

                complete -o filenames -F _permctl_with_colons permctl
                """#)
    }
}

/// Which apps are told apart by their short names.
struct ShortNames {
    private let counts: [String: Int]

    init(_ apps: some Sequence<AppID>) { counts = Dictionary(Set(apps).map { ($0.shortName, 1) }, uniquingKeysWith: +) }

    func isUnique(_ app: AppID) -> Bool { (counts[app.shortName] ?? 0) <= 1 }
}
