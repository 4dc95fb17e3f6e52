// Service files, from which a bus starts programs (D-Bus Specification, "Message Bus Starting Services").

package enum ServiceFile {
    /// Returns the content of the service file for `name`. `command` is the program and its arguments, which may
    /// contain any characters except backslashes, which the buses parse differently.
    package static func text(_ name: String, _ command: [String]) -> String {
        "[D-BUS Service]\nName=\(name)\nExec=\(command.map(quoted).joined(separator: " "))\n"
    }

    /// Quotes as for a shell; an apostrophe is put in double quotes.
    private static func quoted(_ word: String) -> String { "'\(word.replacing("'", with: "'\"'\"'"))'" }
}
