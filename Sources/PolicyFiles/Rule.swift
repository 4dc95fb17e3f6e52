// An administrator's rule, and how a file of rules is read.

package import PermissionModel

package struct Rule: Sendable, Hashable {
    package enum Action: String, Sendable { case restrict, grant }

    package let name: String
    package let apps: [AppPattern]
    package let permissions: [Permission]
    package let action: Action
    package let file: String
    /// The line of its section.
    package let line: Int

    package func matches(_ app: AppID) -> Bool { apps.contains { $0.matches(app) } }

    /// What looks like a mistake in it.
    /// - Parameter exists: Whether there is a file at that path.
    package func notes(_ exists: (String) -> Bool) -> [FileProblem] { apps.flatMap { $0.notes(exists) } }

    /// The rules of a file. Throws the first error in it.
    package static func read(_ text: String, file: String) throws(FileProblem) -> [Rule] {
        try read(IniFile(text, repeatable: repeatable), file: file)
    }

    static func read(_ content: IniFile, file: String) throws(FileProblem) -> [Rule] {
        try content.sections.map { (section) throws(FileProblem) in try Rule(section, file: file) }
    }

    /// The keys that a rule may have several times.
    static let repeatable: Set<String> = ["Apps"]

    private init(_ section: IniFile.Section, file: String) throws(FileProblem) {
        let words = section.name.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0] == "Rule" else {
            throw FileProblem(
                line: section.line, message: "unknown section [\(section.name)]; a rule is a section [Rule NAME]")
        }
        var apps: [AppPattern] = []
        var permissions: [Permission]?
        var action: Action?
        for (key, value, line) in section.values {
            // Split by bytes: a space with a combining mark is one Character.
            let parts = value.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map {
                String(decoding: $0, as: UTF8.self)
            }
            switch key {
            case "Apps": for part in parts { apps.append(try AppPattern(part, line: line)) }
            case "Permissions": permissions = try Rule.permissions(parts, line)
            case "Action":
                action = Action(rawValue: value)
                if action == nil {
                    throw FileProblem(line: line, message: "Action must be restrict or grant, not \(value)")
                }
            default:
                throw FileProblem(line: line, message: "unknown key \(key); the keys are Apps, Permissions and Action")
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
