// The settings of permd-guard: guard.conf and its drop-in files, in the folders of permd.conf.

package import System

package struct GuardConfiguration: Sendable, Equatable {
    /// What happens to users of whom no permd has been seen since the boot.
    package enum Absence: String, Sendable, CaseIterable { case allow, refuse }

    static let file = "guard.conf"
    static let section = "Guard"
    static let repeatable: Set<String> = ["Pass"]

    package private(set) var withoutPermd = Absence.allow
    /// Seconds for which a permd that has left is waited for.
    package private(set) var waitForPermd = 2
    /// The paths of executables that are not asked about.
    package private(set) var passing: Set<String> = []

    package init() {}

    /// Reads the files. Of one with an error, nothing counts; if any has one, what `before` says stays instead.
    ///
    /// - Parameter root: The folder that takes the place of `/`; another only in tests.
    package static func read(
        root: String = "/", over before: GuardConfiguration = GuardConfiguration()
    ) -> (GuardConfiguration, problems: [RuleProblem]) {
        let folders = RuleFolders(root: root, configuration: file)
        let files = folders.files(folders.listings(), known: [])
        var problems = files.unreadable.map { RuleProblem(file: $0.folder, line: 0, message: $0.failure.reason) }
        var found = GuardConfiguration()
        for path in files.configuration {
            do throws(FileProblem) { found = try GuardConfiguration.read(text(path), over: found) } catch {
                problems.append(
                    RuleProblem(
                        file: path, line: error.line, message: "\(error.message); the last valid settings stay"))
            }
        }
        return (problems.isEmpty ? found : before, problems)
    }

    private static func text(_ path: String) throws(FileProblem) -> String {
        switch RuleFolders.read(path) {
        case .failure(let failure): throw FileProblem(line: 0, message: failure.reason)
        case .success(let bytes): return try FileProblem.text(bytes)
        }
    }

    /// Nobody waits longer than a minute for a permd that has crashed.
    private static let longestWait = 60

    /// The settings with those of the file over them. Paths of several files add up.
    package static func read(_ text: String, over settings: GuardConfiguration) throws(FileProblem) -> GuardConfiguration {
        var changed = settings
        for section in try KeyFile(administrators: text, repeatable: repeatable).sections {
            guard section.name == GuardConfiguration.section else {
                throw FileProblem(
                    line: section.line,
                    message: "unknown section [\(section.name)]; there is only [\(GuardConfiguration.section)]")
            }
            for pair in section.pairs {
                let (name, value, line) = (pair.key, pair.text, pair.line)
                guard let problem = changed.set(name, value) else { continue }
                throw FileProblem(line: line, message: problem)
            }
        }
        return changed
    }

    /// Returns what is wrong.
    private mutating func set(_ name: String, _ value: String) -> String? {
        switch name {
        case "WithoutPermd":
            guard let word = Absence(rawValue: value) else { return "\(name) must be allow or refuse, not \(value)" }
            withoutPermd = word
        case "WaitForPermdSec":
            guard let seconds = Int(value), (0...GuardConfiguration.longestWait).contains(seconds) else {
                return "\(name) must be a number from 0 to \(GuardConfiguration.longestWait), not \(value)"
            }
            waitForPermd = seconds
        case "Pass":
            for path in value.split(separator: " ").map(String.init) {
                guard path.hasPrefix("/") else { return "\(name) must be absolute paths of executables, not \(path)" }
                passing.insert(path)
            }
        default: return "[Guard] has no key \(name)"
        }
        return nil
    }
}
