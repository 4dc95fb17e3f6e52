// Errors of the command line, in permctl's own form.

import ArgumentParser

enum UsageErrors {
    /// The message of a wrong command line: like every other error, followed by the usage of the verb.
    static func text(_ message: String, full: String) -> TerminalText {
        let lines = full.split(separator: "\n", omittingEmptySubsequences: false)
        let usage = lines.drop { !$0.hasPrefix("Usage:") }.joined(separator: "\n")
        return "permctl: " + TerminalText(lines: message) + (usage.isEmpty ? "" : "\n" + TerminalText(lines: usage))
    }

    /// The error for a command line whose verb does not exist; nil if it exists or is missing.
    static func unknownVerb(_ arguments: [String]) -> Failure? {
        guard let word = arguments.first, !word.hasPrefix("-"), word != "help" else { return nil }
        let subcommands = Permctl.configuration.subcommands.map { $0.configuration }
        let verbs = subcommands.compactMap(\.commandName)
        guard !verbs.contains(word), !subcommands.contains(where: { $0.aliases.contains(word) }) else { return nil }
        return Failure(.usage, "there is no verb “\(word)”; the verbs are \(verbs.joined(separator: ", "))")
    }
}
