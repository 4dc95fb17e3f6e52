// What the files say: rules, configuration and errors. Of a file with an error, what its last valid version restricted or set
// stays.

package import PermissionModel
package import System

package struct RuleProblem: Error, Sendable, Hashable {
    package let file: String
    /// 0 means the whole file.
    package let line: Int
    package let message: String

    package var text: String { "\(FileProblem.place(file, line)): \(message)" }
}

extension RuleProblem {
    package init(unwatched folder: String, _ reason: String) {
        self.init(
            file: folder, line: 0,
            message: "the folder cannot be watched: \(reason); after a change, run: \(Systemd.reloadPermd)")
    }
}

package struct RuleReading: Sendable {
    /// The content of each file that was read, by path.
    package typealias Contents = [ExactText: Result<String, RegularFile.Failure>]

    package private(set) var rules: [Rule] = []
    package private(set) var configuration = Configuration()
    package private(set) var problems: [RuleProblem] = []
    /// Whether a retry may help even if no file changes.
    package private(set) var mayPass = false
    /// The last valid text of each file, by path.
    package private(set) var validTexts: [ExactText: ExactText]
    private let contents: Contents

    package init(_ files: ListedFiles, _ contents: Contents, validTexts: [ExactText: ExactText]) {
        self.contents = contents
        self.validTexts = validTexts
        for (folder, failure) in files.unreadable {
            fail(folder, 0, "\(failure.reason); what its files restricted or set before stays")
            mayPass = mayPass || failure.isPassing
        }
        for path in files.rules {
            let found = read(path, "what it restricted before stays restricted") {
                (text) throws(FileProblem) in try Rule.read(text, file: path)
            }
            rules += found.map { $0.isCurrent ? $0.value : $0.value.filter { $0.action == .restrict } } ?? []
        }
        for path in files.configuration {
            let before = configuration
            // All of an earlier version: the defaults may allow more.
            let found = read(path, "what it set before stays") {
                (text) throws(FileProblem) in try Configuration.read(text, over: before)
            }
            configuration = found?.value ?? before
        }
        self.validTexts = self.validTexts.filter { files.present.contains($0.key) }
    }

    /// The same, with links in the paths of rules followed. May block.
    package func followingLinks() -> RuleReading {
        var reading = self
        reading.rules = rules.map { $0.followingLinks() }
        return reading
    }

    private mutating func fail(_ file: String, _ line: Int, _ message: String) {
        problems.append(RuleProblem(file: file, line: line, message: message))
    }

    /// What the file says; of one with an error, what its last valid version said.
    private mutating func read<Value>(
        _ path: String, _ consequence: String, _ parse: (String) throws(FileProblem) -> Value
    ) -> (value: Value, isCurrent: Bool)? {
        let key = ExactText(path)
        do throws(FileProblem) {
            let text = try text(of: key)
            let value = try parse(text)
            validTexts[key] = ExactText(text)
            return (value, true)
        } catch {
            let known = validTexts[key]
            fail(
                path, error.line,
                "\(error.message); the file is ignored\(known == nil ? "" : ", but \(consequence)")")
            guard let known, let value = try? parse(known.text) else { return nil }
            return (value, false)
        }
    }

    private mutating func text(of path: ExactText) throws(FileProblem) -> String {
        switch contents[path] ?? .failure(.unanswered) {
        case .failure(let failure):
            // A file that has vanished since it was listed is read again, too.
            mayPass = mayPass || failure.isPassing || failure.isAbsent
            throw FileProblem(failure)
        case .success(let text):
            return text
        }
    }
}
