// An administrator's rule, and how a file of them is read.

import Glibc
public import PermissionModel

public struct Rule: Sendable, Hashable {
    public enum Action: String, Sendable { case restrict, grant }

    public let name: String
    /// Shell patterns; `*` crosses `/`.
    public let apps: [String]
    public let permissions: [Permission]
    public let action: Action
    public let file: String
    /// Of its section.
    public let line: Int

    /// Its patterns byte for byte, as they are matched.
    public static func == (a: Rule, b: Rule) -> Bool {
        a.name == b.name && a.apps.elementsEqual(b.apps) { ExactText($0) == ExactText($1) }
            && a.permissions == b.permissions && a.action == b.action && a.file == b.file && a.line == b.line
    }

    /// Whether one of its patterns matches the whole identity (fnmatch(3) without flags: `*` crosses `/`).
    func matches(_ app: String) -> Bool { apps.contains { fnmatch($0, app, 0) == 0 } }

    /// Every rule of a file, or the first thing that is wrong with it.
    static func read(_ text: String, file: String) throws(FileProblem) -> [Rule] {
        var rules: [Rule] = []
        for section in try IniFile(text).sections { rules.append(try Rule(section, file: file)) }
        return rules
    }

    private init(_ section: IniFile.Section, file: String) throws(FileProblem) {
        let words = section.name.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0] == "Rule" else {
            throw FileProblem(
                line: section.line, message: "there is no section [\(section.name)]; a rule is [Rule name]")
        }
        var apps: [String]?
        var permissions: [Permission]?
        var action: Action?
        for (key, value, line) in section.values {
            // By bytes: a space and a mark after it are one Character.
            let parts = value.utf8.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }.map {
                String(decoding: $0, as: UTF8.self)
            }
            switch key {
            case "Apps": apps = parts
            case "Permissions": permissions = try Rule.permissions(parts, line)
            case "Action":
                action = Action(rawValue: value)
                if action == nil {
                    throw FileProblem(line: line, message: "Action is restrict or grant, not \(value)")
                }
            default:
                throw FileProblem(line: line, message: "a rule has no key \(key); it has Apps, Permissions and Action")
            }
        }
        guard let apps, let permissions, let action else {
            let missing = apps == nil ? "Apps" : permissions == nil ? "Permissions" : "Action"
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
                throw FileProblem(line: line, message: "there is no permission \(word); there are \(known)")
            }
            if !permissions.contains(permission) { permissions.append(permission) }
        }
        return permissions
    }
}
