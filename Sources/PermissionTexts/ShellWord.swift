// Words of a command that a person may copy into a shell.

public enum ShellWord {
    /// Whether a shell takes the word as it is.
    public static func isPlain(_ word: String) -> Bool {
        !word.isEmpty
            && word.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
                case UInt8(ascii: "0")...UInt8(ascii: "9"): true
                default: "._-+@/:%,".utf8.contains(byte)
                }
            }
    }

    /// The word, in quotes if it needs them: whoever names a folder names an app.
    public static func quoted(_ word: String) -> String {
        isPlain(word) ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }
}
