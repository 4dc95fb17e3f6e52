// The keys of permd.conf: what each sets, and its valid range.

import PermissionModel

enum SettingsFile {
    private struct Key: Sendable {
        let section: String
        let name: String
        let range: ClosedRange<Int64>
        let set: @Sendable (inout Settings, Int64) -> Void
    }

    /// No one waits longer than a day for a prompt; more than a million requests do not fit into a desktop's memory.
    private static let keys: [Key] = [
        Key(section: "Prompts", name: "AgentWaitSec", range: 1...86_400) { $0.agentWait = $1 },
        Key(section: "Prompts", name: "TimeoutSec", range: 1...86_400) { $0.promptTimeout = $1 },
        Key(section: "Prompts", name: "NagLimit", range: 1...1000) { $0.nagLimit = Int($1) },
        Key(section: "Prompts", name: "NagPauseSec", range: 1...31_536_000) { $0.nagPause = $1 },
        Key(section: "Limits", name: "WaitingPerApp", range: 1...1_000_000) { $0.waitingPerApp = Int($1) },
        Key(section: "Limits", name: "Waiting", range: 1...1_000_000) { $0.waiting = Int($1) },
        Key(section: "History", name: "MaxRows", range: 0...10_000_000) { $0.historyRows = Int($1) },
        Key(section: "History", name: "MaxDays", range: 0...36_500) { $0.historyDays = Int($1) },
    ]

    /// Applies a file. An invalid one changes nothing.
    static func read(_ text: String, into settings: inout Settings) throws(FileProblem) {
        var changed = settings
        for section in try IniFile(text).sections {
            guard keys.contains(where: { $0.section == section.name }) else {
                let known = Set(keys.map(\.section)).sorted().map { "[\($0)]" }.joined(separator: ", ")
                throw FileProblem(
                    line: section.line, message: "unknown section [\(section.name)]; the sections are \(known)")
            }
            for (name, value, line) in section.values {
                guard let key = keys.first(where: { $0.section == section.name && $0.name == name }) else {
                    throw FileProblem(line: line, message: "[\(section.name)] has no key \(name)")
                }
                guard let number = Int64(value), key.range.contains(number) else {
                    throw FileProblem(
                        line: line,
                        message:
                            "\(name) must be from \(key.range.lowerBound) to \(key.range.upperBound), not \(value)")
                }
                key.set(&changed, number)
            }
        }
        settings = changed
    }
}
