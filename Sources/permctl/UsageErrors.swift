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

    /// The word that needs the fewest letters inserted or removed; nil if all need too many for a spelling mistake, or if
    /// several are equally near.
    static func nearest(to word: String, among words: [String]) -> String? {
        let word = word.lowercased()
        if word.count >= 2, let begun = words.first(where: { $0.hasPrefix(word) }) { return begun }
        let changes = words.map { (word: $0, count: $0.difference(from: word).count) }
        guard let least = changes.map(\.count).min(), least <= 2 else { return nil }
        let nearest = changes.filter { $0.count == least }
        return nearest.count == 1 ? nearest[0].word : nil
    }
}
