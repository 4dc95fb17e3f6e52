// Events of files, which inotify reports in the same way for device nodes.

import DBus
import Glibc
import PermissionCore
import PermissionTestKit
import System
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct NodeOpeningsTests {
    private let folder = try! TemporaryFolder()

    private func openAndClose(_ path: String) {
        let fd = open(path, O_RDONLY | O_CLOEXEC)
        #expect(fd >= 0)
        close(fd)
    }

    @Test func opensAndCloses() async throws {
        let (a, b) = (try folder.write("", to: "a"), try folder.write("", to: "b"))
        let openings = InotifyOpenings()
        let log = EventLog<[String: NodeEvents]>()
        openings.onEvents = { log.add($0) }
        #expect(openings.watch([a]) == [:])
        openAndClose(b)
        let fd = open(a, O_RDONLY | O_CLOEXEC)
        #expect(try await log.wait(for: 1) == [[a: NodeEvents(opens: 1, endsWithOpen: true)]])
        close(fd)
        try await closed(a, 1, log)
        // Events are counted together, even if the reader is late.
        for _ in 0..<100 { openAndClose(a) }
        try await closed(a, 101, log)
        #expect(log.all.contains { $0[a]?.opens == 100 })
        #expect(openings.watch([b]) == [:])
        openAndClose(a)
        openAndClose(b)
        try await closed(b, 1, log)
        #expect(openings.watch([]) == [:])
        openAndClose(b)
        #expect(openings.watch([a]) == [:])
        openAndClose(a)
        try await closed(a, 102, log)
        #expect(log.all.compactMap { $0[b]?.opens }.reduce(0, +) == 1)
    }

    /// Waits for that many closes of a node in all. A program that another test starts may have a copy of a descriptor for
    /// a moment, so that a node is closed later.
    private func closed(_ path: String, _ count: Int, _ log: EventLog<[String: NodeEvents]>) async throws {
        while log.all.compactMap({ $0[path]?.closes }).reduce(0, +) < count {
            try await log.wait(for: log.all.count + 1)
        }
    }

    /// The node of a device that was plugged in again is another file at the same path.
    @Test func anotherFileAtThePath() async throws {
        let path = try folder.write("", to: "a")
        let openings = InotifyOpenings()
        let log = EventLog<[String: NodeEvents]>()
        openings.onEvents = { log.add($0) }
        #expect(openings.watch([path]) == [:])
        rename(path, path + ".old")
        unlink(path + ".old")
        try folder.write("", to: "a")
        // Opens of the new file before it was watched would be lost: it is as if there had been one.
        try await log.first { $0[path]?.opens == 1 }
        let fd = open(path, O_RDONLY | O_CLOEXEC)
        try await log.first { $0 == [path: NodeEvents(opens: 1, endsWithOpen: true)] }
        close(fd)
    }

    @Test func whatCannotBeWatched() throws {
        let missing = folder.file("missing")
        let openings = InotifyOpenings()
        #expect(openings.watch([missing]) == [missing: errorText(ENOENT)])
        try folder.write("", to: "missing")
        #expect(openings.watch([missing]) == [:])
    }
}
