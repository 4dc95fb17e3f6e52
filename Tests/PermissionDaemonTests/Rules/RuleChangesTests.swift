// When changed rule files are read.

import DBus
import PermissionTestKit
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct RuleChangesTests {
    @Test func readingWaitsForTheLastChangeButNotForEver() {
        var time = SettleTime()
        #expect(time.changed(at: 1000) == 200 && time.changed(at: 1150) == 200)
        #expect(time.changed(at: 2900) == 100 && time.changed(at: 3000) == 0 && time.changed(at: 9000) == 0)
        time.end()
        #expect(time.changed(at: 9000) == 200)
    }

    /// The folder in /usr/lib is missing, so that its nearest parent is watched, where other files change all the time.
    /// And a file hangs, so that a reading takes longer than the time to the next.
    @Test func steadyChangesPutNoReadingOff() async throws {
        let folder = RuleTreeTests.folder
        let bench = try await RuleTreeTests.Bench(["\(folder)/a.conf": RuleTreeTests.rule("camera")])
        let hung = try await HungFileSystem(over: bench.path("a.conf"))
        let changes = EventLog<String>()
        bench.book.onChange = { [weak bench] in changes.add(bench?.restricted ?? "") }
        let others = Task {
            while !Task.isCancelled {
                try bench.root.write("", to: "another file")
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        defer { others.cancel() }
        try bench.replace("\(folder)/b.conf", RuleTreeTests.rule("microphone"))
        #expect(try await changes.wait(for: 1) == ["camera microphone"])
        try await hung.end()
    }
}
