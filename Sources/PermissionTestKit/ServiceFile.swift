// Files from which a bus starts programs (D-Bus Specification, "Message Bus Starting Services").

public enum ServiceFile {
    /// The text of the file for `name`; `command` is the program and its arguments, with any characters but backslashes, of
    /// which the buses think differently.
    public static func text(_ name: String, _ command: [String]) -> String {
        "[D-BUS Service]\nName=\(name)\nExec=\(command.map(quoted).joined(separator: " "))\n"
    }

    /// As for a shell; an apostrophe has quotes of its own.
    private static func quoted(_ word: String) -> String { "'\(word.replacing("'", with: "'\"'\"'"))'" }
}
