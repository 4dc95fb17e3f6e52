// A pattern of apps in a rule: which are errors because they can match no identity, and which look like mistakes.

import Glibc
package import PermissionModel
import System

package struct AppPattern: Sendable, Hashable {
    /// A shell pattern, in which `*` also matches `/`. Patterns are compared byte for byte, as they are matched.
    package let text: ExactText
    /// Its line in the file.
    package let line: Int
    /// The pattern with links in its paths followed; nil if there are none.
    private var target: ExactText?

    /// Bytes that stand for others in a pattern.
    private static let wildcards = Set("*?[\\".utf8)

    init(_ text: String, line: Int) throws(FileProblem) {
        self.text = ExactText(text)
        self.line = line
        guard AppPattern.canMatch(text) else {
            let forms = "an identity is flatpak:ID, snap:NAME or exe:/path, with %3A for : in a path"
            throw FileProblem(line: line, message: "\(text) matches no app: \(forms)")
        }
    }

    /// Whether it, or what its links lead to, matches the whole identity (fnmatch(3) without flags, so `*` also matches `/`).
    package func matches(_ app: AppID) -> Bool {
        [text, target].contains { $0.map { fnmatch($0.text, app.description, 0) == 0 } ?? false }
    }

    /// The kernel names an executable by a path without links. May block.
    func followingLinks() -> AppPattern {
        let prefix = "\(AppID.Kind.exe.rawValue):"
        guard text.text.hasPrefix(prefix) else { return self }
        let parts = text.text.utf8.dropFirst(prefix.utf8.count).split(separator: UInt8(ascii: ":"))
        let paths = parts.map { AppPattern.followingLinks(String(Substring($0))) }
        let followed = ExactText(prefix + paths.joined(separator: ":"))
        var pattern = self
        pattern.target = followed == text ? nil : followed
        return pattern
    }

    /// Follows the links of the folders, or of the whole path, before the first wildcard.
    private static func followingLinks(_ pattern: String) -> String {
        let start = pattern.utf8.prefix { !wildcards.contains($0) }
        var end = start.count == pattern.utf8.count ? start.endIndex : start.lastIndex(of: UInt8(ascii: "/"))
        // What is not there may be there later; its folder may be.
        while let place = end, place > start.startIndex {
            let app = AppID("\(AppID.Kind.exe.rawValue):\(Substring(start[..<place]))")
            if let real = app?.paths.first.flatMap({ Folders.realPath($0) }) {
                return literal(AppID.executable(StorePath.withoutVersion(real)).name) + pattern[place...]
            }
            end = start[..<place].lastIndex(of: UInt8(ascii: "/"))
        }
        return pattern
    }

    /// The pattern that matches this text only.
    private static func literal(_ text: String) -> String {
        text.map { wildcards.contains($0.utf8.first ?? 0) ? "\\\($0)" : String($0) }.joined()
    }

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
    /// - Parameter start: The first two bytes of the file at that path; nil if there is none.
    func notes(_ start: (String) -> [UInt8]?) -> [FileProblem] {
        let text = self.text.text
        var notes: [String] = []
        if text.utf8.contains(UInt8(ascii: "{")) {
            notes.append("braces stand for themselves in \(text); write a pattern for each app")
        } else if !text.utf8.contains(where: AppPattern.wildcards.contains), let app = AppID(text) {
            let paths = app.paths
            for path in paths {
                let start = start(path)
                if start == nil {
                    notes.append("there is no file \(path) here")
                } else if paths.count == 1, start == Array("#!".utf8) {
                    notes.append(
                        "\(path) is a script: the program that it starts has an identity of its own, which permctl status shows"
                    )
                }
            }
        }
        return notes.map { FileProblem(line: line, message: $0) }
    }
}
