// A pattern of apps in a rule: which are errors because they can match no identity, and which look like mistakes.

import Glibc
package import PermissionModel
import System

package struct AppPattern: Sendable, Hashable {
    /// A shell pattern, in which `*` also matches `/`. Patterns are compared byte for byte, as they are matched.
    package let text: ExactText
    /// Its line in the file.
    package let line: Int

    /// Bytes that stand for others in a pattern.
    private static let wildcards = Set("*?[\\".utf8)

    init(_ text: String, line: Int) throws(FileProblem) {
        self.text = ExactText(text)
        self.line = line
        guard AppPattern.canMatch(text) else {
            let forms = "an identity is flatpak:ID, snap:NAME, desktop:ID or exe:/path, with %3A for : in a path"
            throw FileProblem(line: line, message: "\(text) matches no app: \(forms)")
        }
    }

    /// Whether it matches the whole identity (fnmatch(3) without flags, so `*` also matches `/`).
    package func matches(_ app: AppID) -> Bool { fnmatch(text.text, app.description, 0) == 0 }

    /// Whether an identity may begin as the pattern does before its first wildcard; without one, whether it is an
    /// identity.
    private static func canMatch(_ text: String) -> Bool {
        let bytes = text.utf8
        let start = String(Substring(bytes.prefix { !wildcards.contains($0) }))
        guard start.utf8.count < bytes.count else { return AppID(text) != nil }
        return AppID.Kind.allCases.contains { "\($0.rawValue):".utf8.starts(with: start.utf8) }
            || endings.contains { AppID(start + $0) != nil }
    }

    /// One of them makes an identity of the beginning of one, also within a path and within an escaped character.
    private static let endings = ["x", "/x", "3Ax", "Ax"]

    /// What looks like a mistake in it, although it may match an app.
    /// - Parameter exists: Whether there is a file at that path.
    func notes(_ exists: (String) -> Bool) -> [FileProblem] {
        let text = self.text.text
        var notes: [String] = []
        if text.utf8.contains(UInt8(ascii: "{")) {
            notes.append("braces stand for themselves in \(text); write a pattern for each app")
        } else if !text.utf8.contains(where: AppPattern.wildcards.contains), let app = AppID(text) {
            for path in app.paths where !exists(path) { notes.append("there is no file \(path) here") }
        }
        return notes.map { FileProblem(line: line, message: $0) }
    }
}
