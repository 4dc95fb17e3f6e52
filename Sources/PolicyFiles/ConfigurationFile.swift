// How a file of settings is read: its keys and their values become settings, or the first error in it. The keys are in
// SettingsKeys.swift.

package import System

/// Settings that files set.
package protocol FileSettings: Sendable {
    static var keys: [SettingsKey<Self>] { get }
}

/// A key of a file of settings, and how its text becomes a value.
package struct SettingsKey<Configuration: FileSettings>: Sendable {
    let section: String
    let name: String
    /// Whether a section may have it several times.
    let isRepeatable: Bool
    /// The valid values, for an error message.
    private let values: String
    /// Returns false if the value is not valid.
    private let set: @Sendable (inout Configuration, KeyFile.Pair) -> Bool

    static func number(
        _ section: String, _ name: String, _ range: ClosedRange<Int64>,
        _ set: @escaping @Sendable (inout Configuration, Int64) -> Void
    ) -> Self {
        Self(
            section: section, name: name, isRepeatable: false,
            values: "from \(range.lowerBound) to \(range.upperBound)"
        ) { settings, pair in
            guard let number = Int64(pair.text), range.contains(number) else { return false }
            set(&settings, number)
            return true
        }
    }

    static func word<Word: RawRepresentable<String> & CaseIterable & Sendable>(
        _ section: String, _ name: String, _ set: @escaping @Sendable (inout Configuration, Word) -> Void
    ) -> Self {
        let words = Word.allCases.map(\.rawValue)
        return Self(
            section: section, name: name, isRepeatable: false,
            values: words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        ) { settings, pair in
            guard let word = Word(rawValue: pair.text) else { return false }
            set(&settings, word)
            return true
        }
    }

    /// Absolute paths, separated by spaces.
    static func paths(
        _ section: String, _ name: String, _ add: @escaping @Sendable (inout Configuration, [String]) -> Void
    ) -> Self {
        Self(section: section, name: name, isRepeatable: true, values: "absolute paths") { settings, pair in
            guard pair.words.allSatisfy({ $0.utf8.first == UInt8(ascii: "/") }) else { return false }
            add(&settings, pair.words)
            return true
        }
    }

    fileprivate func apply(_ pair: KeyFile.Pair, to settings: inout Configuration) throws(FileProblem) {
        guard set(&settings, pair) else {
            throw FileProblem(line: pair.line, message: "\(name) must be \(values), not \(pair.text)")
        }
    }
}

extension FileSettings {
    /// The settings with those of the text of a file over them.
    package static func read(_ text: String, over settings: Self) throws(FileProblem) -> Self {
        var changed = settings
        for section in try KeyFile(administrators: text, repeatable: repeatable).sections {
            let known = keys.filter { $0.section == section.name }
            guard !known.isEmpty else {
                let sections = Set(keys.map(\.section)).sorted().map { "[\($0)]" }.joined(separator: ", ")
                throw FileProblem(
                    line: section.line, message: "unknown section [\(section.name)]; there may be \(sections)")
            }
            for pair in section.pairs {
                guard let key = known.first(where: { $0.name == pair.key }) else {
                    throw FileProblem(line: pair.line, message: "[\(section.name)] has no key \(pair.key)")
                }
                try key.apply(pair, to: &changed)
            }
        }
        return changed
    }

    static var repeatable: Set<String> { Set(keys.filter(\.isRepeatable).map(\.name)) }
}
