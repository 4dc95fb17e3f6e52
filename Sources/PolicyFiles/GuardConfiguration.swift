// The configuration of permd-guard: guard.conf and its drop-in files, in the folders of permd.conf.

import System

package struct GuardConfiguration: Sendable, Equatable {
    /// What happens to users of whom no permd has been seen since the boot.
    package enum Absence: String, Sendable, CaseIterable { case allow, refuse }

    static let file = "guard.conf"

    package internal(set) var withoutPermd = Absence.allow
    /// Seconds for which a permd that has left is waited for.
    package internal(set) var waitForPermd = 2
    /// The paths of executables that are not asked about. Those of several files add up.
    package internal(set) var passing: Set<String> = []

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
            do throws(FileProblem) { found = try read(RuleFolders.text(path), over: found) } catch {
                problems.append(
                    RuleProblem(
                        file: path, line: error.line, message: "\(error.message); the last valid settings stay"))
            }
        }
        return (problems.isEmpty ? found : before, problems)
    }
}
