// The last good text of each rule and settings file, for the time in which the file cannot be read or is wrong.

struct LastGoodFiles {
    /// What the store does not have yet.
    struct Changes: Sendable {
        var texts: [(path: String, text: String)]
        /// Files that are gone.
        var removed: [String]
    }

    private var texts: [String: String]
    private var stored: [String: String]

    /// - Parameter stored: what earlier runs have saved.
    init(_ stored: [(path: String, text: String)]) {
        self.stored = Dictionary(stored.map { ($0.path, $0.text) }) { _, last in last }
        texts = self.stored
    }

    var paths: Set<String> { Set(texts.keys) }

    subscript(path: String) -> String? { texts[path] }

    mutating func keep(_ text: String, of path: String) { texts[path] = text }

    /// Forgets the files that are not there any more.
    mutating func drop(except present: Set<String>) { texts = texts.filter { present.contains($0.key) } }

    /// Nil when the store has everything.
    var unsaved: Changes? {
        let changed = texts.filter { !isStored($0.value, $0.key) }.sorted { $0.key < $1.key }
        let changes = Changes(
            texts: changed.map { ($0.key, $0.value) }, removed: stored.keys.filter { texts[$0] == nil }.sorted())
        return changes.texts.isEmpty && changes.removed.isEmpty ? nil : changes
    }

    mutating func saved(_ changes: Changes) {
        for (path, text) in changes.texts { stored[path] = text }
        for path in changes.removed { stored[path] = nil }
    }

    /// By bytes: texts that only look equal are two.
    private func isStored(_ text: String, _ path: String) -> Bool {
        stored[path].map { $0.utf8.elementsEqual(text.utf8) } ?? false
    }
}
