// A store that cannot be opened for writing is read as far as that is safe, and written again once it is repaired.

import DBus
import Glibc
import PermissionCore
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct StoreMendingTests {
    private let folder = try! TemporaryFolder()
    private let app = AppID("exe:/usr/bin/a")!

    private var paths: StorePaths { StorePaths(state: folder.file("state"), session: folder.file("run")) }

    private func open(_ paths: StorePaths? = nil) -> DecisionStore {
        openStore(paths ?? self.paths)
    }

    private func set(_ verdict: Verdict, _ duration: Duration = .always, _ permission: Permission = .camera) -> Change {
        .set(
            Decision(app: app, permission: permission, verdict: verdict, duration: duration, decided: 1, by: .permctl))
    }

    /// Imitates a read-only disk, for root as well: the file exists, but SQLite cannot create its -shm file.
    private func obstruct(_ paths: StorePaths? = nil) throws {
        try #require(symlink("nowhere", (paths ?? self.paths).stateFile + "-shm") == 0)
    }

    private func mend(_ paths: StorePaths? = nil) throws {
        try #require(unlink((paths ?? self.paths).stateFile + "-shm") == 0)
    }

    @Test func aCleanlyClosedFileIsRead() async throws {
        let store = open()
        try await commit(store, set(.deny))
        await close(store)
        try obstruct()
        let again = open()
        #expect(again.appDecision(app, .camera)?.verdict == .deny)
        #expect(try list(again) == ["deny always"])
        #expect(again.findings.contains { $0.contains("cannot be written") && $0.contains("asking process only") })
        await #expect(throws: StoreError.self) { try await commit(again, set(.grant)) }
        #expect(again.appDecision(app, .camera)?.verdict == .deny)
        try mend()
        try await commit(again, set(.grant, .always, .location))
        #expect(again.state == .writable && again.findings.isEmpty, "\(again.findings)")
        #expect(try list(again).sorted() == ["deny always", "grant always"])
        await close(again)
        let last = open()
        #expect(try list(last).sorted() == ["deny always", "grant always"])
        await close(last)
    }

    /// The file contains a grant, and its log the removal of that grant: nothing is read.
    @Test func aFileIsNotReadWithoutItsLog() async throws {
        let store = open()
        try await commit(store, set(.grant))
        await close(store)
        let other = StorePaths(state: folder.file("other"), session: nil)
        let running = open()
        try await commit(running, .remove(DecisionFilter(app: app)))
        try #require(mkdir(other.state, 0o700) == 0)
        for suffix in ["", "-wal"] {
            let copy = try ChildProcess("cp", [paths.stateFile + suffix, other.stateFile + suffix])
            try #require(await copy.waitForExit() == .exited(0))
        }
        await close(running)
        try #require(!StoreFiles.isWhole(other.stateFile))
        try obstruct(other)
        let again = open(other)
        let changes = EventLog<Bool>()
        again.onReadAgain = { changes.add(true) }
        #expect(again.appDecision(app, .camera) == nil && again.state != .writable)
        #expect(throws: PermissionError.self) { try list(again) }
        try mend(other)
        try await commit(again, set(.deny, .always, .location))
        #expect(again.appDecision(app, .camera) == nil && again.state == .writable)
        #expect(try list(again) == ["deny always"])
        try await changes.wait(for: 1)
        await close(again)
    }

    @Test func aFolderThatReappears() async throws {
        let store = open()
        try await commit(store, set(.deny))
        await close(store)
        try #require(rename(paths.state, folder.file("away")) == 0)
        try folder.write("", to: "state")
        let again = open()
        let changes = EventLog<Bool>()
        again.onReadAgain = { changes.add(true) }
        #expect(again.appDecision(app, .camera) == nil && again.findings.count == 1)
        await #expect(throws: StoreError.self) { try await commit(again, set(.grant)) }
        // The decisions are unknown.
        #expect(throws: PermissionError.self) { try list(again) }
        #expect(changes.all.isEmpty)
        try #require(unlink(paths.state) == 0 && rename(folder.file("away"), paths.state) == 0)
        // These are read at startup and after each change, so they do not try to open the file again.
        #expect(again.ruleFiles().isEmpty && again.portalAnswers().isEmpty)
        #expect(again.state != .writable)
        again.readAgain()
        #expect(try list(again) == ["deny always"])
        try await changes.wait(for: 1)
        // The failed lookup above must not stay cached as undecided.
        #expect(again.appDecision(app, .camera)?.verdict == .deny)
        try await commit(again, set(.deny, .always, .location))
        #expect(again.state == .writable && again.findings.isEmpty)
        await close(again)
    }

    @Test func aNewerFileIsNotOpenedAgain() async throws {
        let store = open()
        try await commit(store, set(.grant))
        await close(store)
        try Database(path: paths.stateFile).execute("PRAGMA user_version = 999")
        let again = open()
        for _ in 0..<2 {
            await #expect(throws: StoreError.self) { try await commit(again, set(.deny)) }
            #expect(throws: PermissionError.self) { try list(again) }
            #expect(again.findings.count == 1 && again.findings.contains { $0.contains("newer permd") })
        }
        try Database(path: paths.stateFile).execute("PRAGMA user_version = \(Schema.current.version)")
        await #expect(throws: StoreError.self) { try await commit(again, set(.deny)) }
        await close(again)
    }
}
