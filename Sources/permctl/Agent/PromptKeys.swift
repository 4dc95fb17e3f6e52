// Which key does what on a prompt's page.

import PermissionClient
import PermissionTexts

/// Digits answer, letters change what is asked about, and a question mark shows the details.
struct PromptKeys {
    enum Answer: Equatable {
        /// Grants what is switched on, for this duration; nil where only a portal keeps the answer.
        case allow(PromptChoice?)
        case deny
        case notNow
    }

    enum Option {
        /// Whether Allow grants the item with this index.
        case onOff(Int)
        /// One option of a portal dialog's choice, of the item with this index.
        case choice(PortalChoice, selection: String, label: String, Int)
    }

    static let details: Character = "?"
    private static let letters = Array("abcdefghijklmnopqrstuvwxyz")

    /// The answers, for the keys from 1.
    let answers: [Answer]
    /// The options, for the keys from a. There are no keys for more of them; they keep their initial selection.
    let options: [Option]

    init(_ form: PromptForm) {
        let allowing: [Answer] =
            form.durations.isEmpty ? (form.duration == nil ? [] : [.allow(nil)]) : form.durations.map { .allow($0) }
        answers = allowing + [.deny, .notNow]
        let all = form.items.enumerated().flatMap { index, item -> [Option] in
            (form.hasSwitches ? [.onOff(index)] : [])
                + (item.dialog?.choices ?? []).flatMap { PromptKeys.options(of: $0, index) }
        }
        options = Array(all.prefix(PromptKeys.letters.count))
    }

    private static func options(of choice: PortalChoice, _ index: Int) -> [Option] {
        choice.isCheckbox
            ? [.choice(choice, selection: "true", label: choice.label, index)]
            : choice.options.map { .choice(choice, selection: $0.id, label: $0.label, index) }
    }

    func answer(_ key: Character) -> Answer? {
        // Only ASCII digits: other characters, such as “²”, have a number value as well.
        guard key.isASCII, let number = key.wholeNumberValue, (1...answers.count).contains(number) else { return nil }
        return answers[number - 1]
    }

    func option(_ key: Character) -> Option? {
        PromptKeys.letters.firstIndex(of: key).flatMap { options.indices.contains($0) ? options[$0] : nil }
    }

    /// The key of an option.
    static func letter(_ index: Int) -> String { String(letters[index]) }

    /// All keys, as text.
    var all: String {
        let last = PromptKeys.letters.prefix(options.count).last.map { $0 == "a" ? ["a"] : ["a-\($0)"] } ?? []
        return (["1-\(answers.count)"] + last + [String(PromptKeys.details)]).joined(separator: ", ")
    }

    /// The keys that switch items on and off, as text.
    var switches: String {
        options.enumerated().compactMap { index, option in
            if case .onOff = option { PromptKeys.letter(index) } else { nil }
        }.joined(separator: ", ")
    }
}
