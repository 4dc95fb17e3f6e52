// Errors of the command line, in permctl's own form.

import ArgumentParser
import PermissionClient

enum UsageErrors {
    /// The message of a wrong command line: like every other error, followed by the usage of the verb.
    static func text(_ message: String, full: String) -> TerminalText {
        var text = message.hasSuffix(".") ? String(message.dropLast()) : message
        // The parser's own messages begin with a capital letter, which may also begin a value or a name.
        let isSentence = text.dropFirst().first.map { $0.isLowercase || $0 == " " } ?? false
        if isSentence { text = text.prefix(1).lowercased() + text.dropFirst() }
        for (old, new) in [(". Please provide", "; use"), (". Did you mean", "; did you mean")] {
            text = text.replacing(old, with: new)
        }
        text = text.replacing(/'([^'\n]*)'/) { "“\($0.output.1)”" }
        let lines = full.split(separator: "\n", omittingEmptySubsequences: false)
        let usage = lines.drop { !$0.hasPrefix("Usage:") }.joined(separator: "\n")
        return "permctl: " + TerminalText(lines: text) + (usage.isEmpty ? "" : "\n" + TerminalText(lines: usage))
    }

    /// The error for a command line whose verb does not exist; nil if it exists or is missing.
    static func unknownVerb(_ arguments: [String]) -> Failure? {
        guard let word = arguments.first, !word.hasPrefix("-"), word != "help" else { return nil }
        let verbs = Permctl.configuration.subcommands.compactMap { $0.configuration.commandName }
        guard !verbs.contains(word) else { return nil }
        if let verb = nearest(to: word, among: verbs) {
            return Failure(.usage, "there is no verb “\(word)”; did you mean “\(verb)”?")
        }
        return Failure(.usage, "there is no verb “\(word)”; the verbs are \(verbs.joined(separator: ", "))")
    }

    /// The word that needs the fewest changes; nil if all need too many for a spelling mistake, or if several are equally near.
    static func nearest(to word: String, among words: [String]) -> String? {
        let word = word.lowercased()
        let ranked = words.map { (word: $0, changes: distance(Array(word), Array($0))) }.sorted {
            $0.changes < $1.changes
        }
        if let begun = words.filter({ word.count >= 2 && $0.hasPrefix(word) }).first { return begun }
        guard let best = ranked.first, best.changes <= max(1, min(word.count, best.word.count) / 3) else { return nil }
        return ranked.count > 1 && ranked[1].changes == best.changes ? nil : best.word
    }

    /// The insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
    private static func distance(_ a: [Character], _ b: [Character]) -> Int {
        var rows = [Array(0...b.count)]
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var changes = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { changes = min(changes, rows[i - 1][j - 1] + 1) }
                row.append(changes)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
