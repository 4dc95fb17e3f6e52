// How a file of a configuration is read: what its keys set, or the first error in it. The keys are in
// ConfigurationKeys.swift.

package import System

/// A configuration that files set.
package protocol FileConfiguration: Sendable {
    static var keys: [ConfigurationKey<Self>] { get }
}

/// A key of such a file, and how its text becomes a value.
package struct ConfigurationKey<Values: FileConfiguration>: Sendable {
    let section: String
    let name: String
    /// Whether a section may have it several times.
    let isRepeatable: Bool
    /// The valid values, for an error message.
    private let values: String
    /// Returns false if the value is not valid.
    private let set: @Sendable (inout Values, KeyFile.Pair) -> Bool

    static func number(
        _ section: String, _ name: String, _ range: ClosedRange<Int64>,
        _ set: @escaping @Sendable (inout Values, Int64) -> Void
    ) -> Self {
        Self(
            section: section, name: name, isRepeatable: false,
            values: "from \(range.lowerBound) to \(range.upperBound)"
        ) { configuration, pair in
            guard let number = Int64(pair.text), range.contains(number) else { return false }
            set(&configuration, number)
            return true
        }
    }

    static func word<Word: RawRepresentable<String> & CaseIterable & Sendable>(
        _ section: String, _ name: String, _ set: @escaping @Sendable (inout Values, Word) -> Void
    ) -> Self {
        let words = Word.allCases.map(\.rawValue)
        return Self(
            section: section, name: name, isRepeatable: false,
            values: words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
        ) { configuration, pair in
            guard let word = Word(rawValue: pair.text) else { return false }
            set(&configuration, word)
            return true
        }
    }

    /// Absolute paths, separated by spaces.
    static func paths(
        _ section: String, _ name: String, _ add: @escaping @Sendable (inout Values, [String]) -> Void
    ) -> Self {
        Self(section: section, name: name, isRepeatable: true, values: "absolute paths") { configuration, pair in
            guard pair.words.allSatisfy({ $0.utf8.first == UInt8(ascii: "/") }) else { return false }
            add(&configuration, pair.words)
            return true
        }
    }

    fileprivate func apply(_ pair: KeyFile.Pair, to configuration: inout Values) throws(FileProblem) {
        guard set(&configuration, pair) else {
            throw FileProblem(line: pair.line, message: "\(name) must be \(values), not \(pair.text)")
        }
    }
}

extension FileConfiguration {
    /// The configuration with what the text of a file sets in it.
    package static func read(_ text: String, over configuration: Self) throws(FileProblem) -> Self {
        var changed = configuration
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
