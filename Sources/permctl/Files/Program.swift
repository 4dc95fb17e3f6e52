// Runs another program, and returns what it prints.

import Glibc

enum Program {
    /// Returns the standard output; nil if the program cannot be started or fails.
    static func output(_ command: String...) -> String? {
        // For the shell, all in single quotes stands for itself.
        let words = command.map { "'\($0.replacing("'", with: #"'\''"#))'" }
        guard let pipe = popen("\(words.joined(separator: " ")) 2>/dev/null", "re") else { return nil }
        let content = WholeFile.read(pipe)
        return pclose(pipe) == 0 ? String(decoding: content, as: UTF8.self) : nil
    }
}
