// Watching folders: one that cannot be watched is reported and tried again.

import DBus
import Glibc
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct FolderWatchTests {
    @Test func aFolderThatCannotBeWatchedIsReportedAndTriedAgain() async throws {
        let root = try TemporaryFolder(["good"])
        let names = EventLog<String>()
        let watch = FolderWatch { for name in $0 { names.add(name) } }
        let folders: Set<String> = [root.file("good"), root.file("late")]
        watch.watch(folders)
        let problem = try #require(watch.problem)
        #expect(problem.file == root.file("late"))
        #expect(problem.message.contains("No such file") && problem.message.contains("systemctl --user reload permd"))
        // The other folder is watched nevertheless.
        try root.write("x", to: "good/a.conf")
        try await names.first { $0 == "a.conf" }
        mkdir(root.file("late"), 0o700)
        watch.watch(folders)
        #expect(watch.problem == nil)
        try root.write("x", to: "late/b.conf")
        try await names.first { $0 == "b.conf" }
    }
}
