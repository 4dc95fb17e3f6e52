// Which file a program that runs others runs, by its command line: the first argument that is no option. Options that choose
// no file are passed over. Where an option is not known, no file is: its value could be taken for one.

/// What the options of such a program mean that come before the file.
struct RuntimeOptions: Sendable {
    /// Letters of options without a value, which may follow each other in one argument (`-su`).
    var flags = ""
    /// Letters of options whose value is the digits that follow, if there are some; then other letters may follow (`-l0ne`).
    var numbered = ""
    /// Letters of options whose value is the next argument; other letters may follow before that (`-oe pipefail`).
    var following = ""
    /// Letters of options whose value is the rest of the argument, if it has more (`-i.bak`).
    var attached = ""
    /// Letters of options whose value is the rest of the argument, or else the next one (`-W ignore`).
    var valued = ""
    /// Whole options without a value, or with one after `=`. One that ends with `*` stands for all with this beginning.
    var words: [String] = []
    /// Whole options with a value after `=`, which may be names' beginnings as well. Without it, the next argument could be
    /// the value.
    var assignments: [String] = []
    /// Whole options that stand for code or for other files, although one of ``words`` matches them.
    var refused: [String] = []
    /// Whole options with a value, after `=` or in the next argument.
    var valuedWords: [String] = []
    /// Whole options that say that a file follows, after `=` or as the next argument that is no option. If there are some,
    /// other arguments name no file but for those with one of the endings.
    var choosing: [String] = []
    /// What may stand before the file (`run`).
    var commands: [String] = []
    /// The ends of the names of files; empty for any.
    var endings: [String] = []

    /// Returns the argument that names the file; nil if none does, such as for code in an argument.
    ///
    /// - Parameter arguments: The command line without the name of the program itself.
    func file(in arguments: some Sequence<[UInt8]>) -> [UInt8]? {
        var rest = Array(arguments)[...]
        var isChosen = choosing.isEmpty
        while let argument = rest.popFirst() {
            let text = String(decoding: argument, as: UTF8.self)
            guard text.hasPrefix("-") || text.hasPrefix("+") else {
                if commands.contains(text) { continue }
                return isFile(text, isChosen: isChosen) ? argument : nil
            }
            if text == "--" { return rest.first.flatMap { isChosen ? $0 : nil } }
            let word = String(text.prefix { $0 != "=" })
            let value = word == text ? nil : Array(text.utf8.dropFirst(word.utf8.count + 1))
            if RuntimeOptions.contains(refused, word) { return nil }
            if RuntimeOptions.contains(choosing, word) {
                if let value { return value }
                isChosen = true
            } else if RuntimeOptions.contains(valuedWords, word) {
                if value == nil { _ = rest.popFirst() }
            } else if value == nil || !RuntimeOptions.contains(assignments, word) {
                guard RuntimeOptions.contains(words, word) || passLetters(text, &rest) else { return nil }
            }
        }
        return nil
    }

    /// Returns false if it has letters that are not known, or none.
    private func passLetters(_ text: String, _ rest: inout ArraySlice<[UInt8]>) -> Bool {
        var letters = text.dropFirst()
        guard !letters.isEmpty else { return false }
        while let letter = letters.popFirst() {
            if flags.contains(letter) { continue }
            if numbered.contains(letter) {
                letters = letters.drop(while: \.isNumber)
                // A number of another base (-0xFF), which is followed by what could be letters.
                guard letters.first != "x" else { return false }
                continue
            }
            if following.contains(letter) {
                _ = rest.popFirst()
                continue
            }
            if valued.contains(letter), letters.isEmpty { _ = rest.popFirst() }
            return valued.contains(letter) || attached.contains(letter)
        }
        return true
    }

    private func isFile(_ text: String, isChosen: Bool) -> Bool {
        guard !text.isEmpty, !endings.isEmpty else { return !text.isEmpty && isChosen }
        return endings.contains { text.lowercased().hasSuffix($0) } || isChosen && !choosing.isEmpty
    }

    private static func contains(_ words: [String], _ word: String) -> Bool {
        words.contains { $0.hasSuffix("*") ? word.hasPrefix($0.dropLast()) : word == $0 }
    }
}
