// The last valid text of each rule and settings file, for use while the file is invalid or cannot be read.

import PermissionModel

struct LastGoodFiles {
    /// Changes that are not in the store yet.
    struct Changes: Sendable {
        var texts: [(path: String, text: String)]
        var removed: [String]
    }

    /// By path.
    private var texts: [ExactText: ExactText]
    private var stored: [ExactText: ExactText]

    /// - Parameter stored: the texts that earlier runs have saved.
    init(_ stored: [(path: String, text: String)]) {
        self.stored = Dictionary(stored.map { (ExactText($0.path), ExactText($0.text)) }) { _, last in last }
        texts = self.stored
    }

    var paths: Set<ExactText> { Set(texts.keys) }

    subscript(path: String) -> String? { texts[ExactText(path)]?.text }

    mutating func keep(_ text: String, of path: String) { texts[ExactText(path)] = ExactText(text) }

    /// Forgets the files that no longer exist.
    mutating func drop(except present: Set<ExactText>) { texts = texts.filter { present.contains($0.key) } }

    /// Nil if the store has everything.
    var unsaved: Changes? {
        let changed = texts.filter { stored[$0.key] != $0.value }.sorted { $0.key < $1.key }
        let changes = Changes(
            texts: changed.map { ($0.key.text, $0.value.text) },
            removed: stored.keys.filter { texts[$0] == nil }.sorted().map(\.text))
        return changes.texts.isEmpty && changes.removed.isEmpty ? nil : changes
    }

    mutating func saved(_ changes: Changes) {
        for (path, text) in changes.texts { stored[ExactText(path)] = ExactText(text) }
        for path in changes.removed { stored[ExactText(path)] = nil }
    }
}
