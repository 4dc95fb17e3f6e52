// An administrator's rule, and how a file of rules is read.

package import PermissionModel
package import System

package struct Rule: Sendable, Hashable {
    package enum Action: String, Sendable { case restrict, grant }

    package let name: String
    package private(set) var apps: [AppPattern]
    package let permissions: [Permission]
    package let action: Action
    package let file: String
    /// The line of its section.
    package let line: Int

    package func matches(_ app: AppID) -> Bool { apps.contains { $0.matches(app) } }

    /// What looks like a mistake in it.
    /// - Parameter start: The first two bytes of the file at that path; nil if there is none.
    package func notes(_ start: (String) -> [UInt8]?) -> [FileProblem] { apps.flatMap { $0.notes(start) } }

    func followingLinks() -> Rule {
        var rule = self
        rule.apps = apps.map { $0.followingLinks() }
        return rule
    }

    /// The rules of a file. Throws the first error in it.
    package static func read(_ text: String, file: String) throws(FileProblem) -> [Rule] {
        try read(KeyFile(administrators: text, repeatable: repeatable), file: file)
    }

    static func read(_ content: KeyFile, file: String) throws(FileProblem) -> [Rule] {
        try content.sections.map { (section) throws(FileProblem) in try Rule(section, file: file) }
    }

    /// The keys that a rule may have several times.
    static let repeatable: Set<String> = ["Apps"]

    private init(_ section: KeyFile.Section, file: String) throws(FileProblem) {
        let words = section.name.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0] == "Rule" else {
            throw FileProblem(
                line: section.line, message: "unknown section [\(section.name)]; a rule is a section [Rule NAME]")
        }
        var apps: [AppPattern] = []
        var permissions: [Permission]?
        var action: Action?
        for pair in section.pairs {
            switch pair.key {
            case "Apps": for word in pair.words { apps.append(try AppPattern(word, line: pair.line)) }
            case "Permissions": permissions = try Rule.permissions(pair.words, pair.line)
            case "Action":
                action = Action(rawValue: pair.text)
                if action == nil {
                    throw FileProblem(line: pair.line, message: "Action must be restrict or grant, not \(pair.text)")
                }
            default:
                throw FileProblem(
                    line: pair.line, message: "unknown key \(pair.key); the keys are Apps, Permissions and Action")
            }
        }
        guard !apps.isEmpty, let permissions, let action else {
            let missing = apps.isEmpty ? "Apps" : permissions == nil ? "Permissions" : "Action"
            throw FileProblem(line: section.line, message: "[\(section.name)] has no \(missing)")
        }
        name = String(words[1])
        self.apps = apps
        self.permissions = permissions
        self.action = action
        self.file = file
        line = section.line
    }

    private static func permissions(_ words: [String], _ line: Int) throws(FileProblem) -> [Permission] {
        var permissions: [Permission] = []
        for word in words {
            guard let permission = Permission(rawValue: word) else {
                let known = Permission.allCases.map(\.rawValue).joined(separator: ", ")
                throw FileProblem(line: line, message: "unknown permission \(word); the permissions are \(known)")
            }
            if !permissions.contains(permission) { permissions.append(permission) }
        }
        return permissions
    }
}
