// An administrator's rule, and how a file of rules is read.

import Glibc
import PermissionModel

struct Rule: Sendable, Hashable {
    enum Action: String, Sendable { case restrict, grant }

    let name: String
    /// Shell patterns, in which `*` also matches `/`. They are compared byte for byte, as they are matched.
    let apps: [ExactText]
    let permissions: [Permission]
    let action: Action
    let file: String
    /// The line of its section.
    let line: Int

    /// Whether a pattern matches the whole identity (fnmatch(3) without flags, so `*` also matches `/`).
    func matches(_ app: AppID) -> Bool {
        let name = app.description
        return apps.contains { fnmatch($0.text, name, 0) == 0 }
    }

    /// The rules of a file. Throws the first error in it.
    static func read(_ text: String, file: String) throws(FileProblem) -> [Rule] {
        try IniFile(text).sections.map { (section) throws(FileProblem) in try Rule(section, file: file) }
    }

    private init(_ section: IniFile.Section, file: String) throws(FileProblem) {
        let words = section.name.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0] == "Rule" else {
            throw FileProblem(
                line: section.line, message: "unknown section [\(section.name)]; a rule is a section [Rule NAME]")
        }
        var apps: [String]?
        var permissions: [Permission]?
        var action: Action?
        for (key, value, line) in section.values {
            // Split by bytes: a space with a combining mark is one Character.
            let parts = value.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map {
                String(decoding: $0, as: UTF8.self)
            }
            switch key {
            case "Apps": apps = parts
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
        guard let apps, let permissions, let action else {
            let missing = apps == nil ? "Apps" : permissions == nil ? "Permissions" : "Action"
            throw FileProblem(line: section.line, message: "[\(section.name)] has no \(missing)")
        }
        name = String(words[1])
        self.apps = apps.map { ExactText($0) }
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
