// The keys of permd.conf: what each sets, and its valid range.

package import PermissionModel
package import System

package enum ConfigurationFile {
    private struct Key: Sendable {
        let section: String
        let name: String
        /// The valid values, for an error message.
        let values: String
        /// Returns false if the value is not valid.
        let set: @Sendable (inout Configuration, String) -> Bool

        init(
            section: String, name: String, range: ClosedRange<Int64>,
            set: @escaping @Sendable (inout Configuration, Int64) -> Void
        ) {
            (self.section, self.name) = (section, name)
            values = "from \(range.lowerBound) to \(range.upperBound)"
            self.set = { configuration, text in
                guard let number = Int64(text), range.contains(number) else { return false }
                set(&configuration, number)
                return true
            }
        }

        init<Word: RawRepresentable<String> & CaseIterable & Sendable>(
            section: String, name: String, word: Word.Type, set: @escaping @Sendable (inout Configuration, Word) -> Void
        ) {
            (self.section, self.name) = (section, name)
            let words = Word.allCases.map(\.rawValue)
            values = words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
            self.set = { configuration, text in
                guard let word = Word(rawValue: text) else { return false }
                set(&configuration, word)
                return true
            }
        }
    }

    /// No one waits longer than a day for a prompt; more than a million requests do not fit into a desktop's memory.
    private static let keys: [Key] = [
        Key(section: "Prompts", name: "AgentWaitSec", range: 1...86_400) { $0.agentWait = $1 },
        Key(section: "Prompts", name: "TimeoutSec", range: 1...86_400) { $0.promptTimeout = $1 },
        Key(section: "Prompts", name: "NagLimit", range: 1...Int64(Configuration.maximumNagLimit)) {
            $0.nagLimit = Int($1)
        },
        Key(section: "Prompts", name: "NagPauseSec", range: 1...31_536_000) { $0.nagPause = $1 },
        Key(section: "Limits", name: "WaitingPerApp", range: 1...1_000_000) { $0.waitingPerApp = Int($1) },
        Key(section: "Limits", name: "Waiting", range: 1...1_000_000) { $0.waiting = Int($1) },
        Key(section: "History", name: "MaxRows", range: 0...10_000_000) { $0.historyRows = Int($1) },
        Key(section: "History", name: "MaxDays", range: 0...36_500) { $0.historyDays = Int($1) },
        Key(section: "Enforcement", name: "Ask", word: AskScope.self) { $0.ask = $1 },
        Key(section: "Indicator", name: "Enabled", word: YesNo.self) { $0.indicator = $1 },
    ]

    /// The settings with those of the file over them.
    package static func read(_ text: String, over settings: Configuration) throws(FileProblem) -> Configuration {
        var changed = settings
        for section in try KeyFile(administrators: text).sections {
            guard keys.contains(where: { $0.section == section.name }) else {
                let known = Set(keys.map(\.section)).sorted().map { "[\($0)]" }.joined(separator: ", ")
                throw FileProblem(
                    line: section.line, message: "unknown section [\(section.name)]; the sections are \(known)")
            }
            for pair in section.pairs {
                let (name, value, line) = (pair.key, pair.text, pair.line)
                guard let key = keys.first(where: { $0.section == section.name && $0.name == name }) else {
                    throw FileProblem(line: line, message: "[\(section.name)] has no key \(name)")
                }
                guard key.set(&changed, value) else {
                    throw FileProblem(line: line, message: "\(name) must be \(key.values), not \(value)")
                }
            }
        }
        return changed
    }
}
