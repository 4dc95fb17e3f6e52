// A store that cannot be opened for writing is read as far as that is safe, and written again once it is repaired.

import CSQLite
import DBus
import Glibc
import PermissionCore
import PermissionModel
import PermissionTestKit
import System
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

    /// A store whose file has been read.
    private func opened(_ paths: StorePaths? = nil) async -> DecisionStore {
        let store = open(paths)
        await written(store)
        return store
    }

    private func set(_ verdict: Verdict, _ duration: Duration = .always, _ permission: Permission = .camera) -> Decision
    {
        Decision(app: app, permission: permission, verdict: verdict, duration: duration, decided: 1, by: .permctl)
    }

    /// SQLite cannot open its -shm file.
    private func obstruct(_ paths: StorePaths? = nil) throws {
        unlink((paths ?? self.paths).stateFile + "-shm")
        try #require(symlink("nowhere", (paths ?? self.paths).stateFile + "-shm") == 0)
    }

    private func mend(_ paths: StorePaths? = nil) throws {
        try #require(unlink((paths ?? self.paths).stateFile + "-shm") == 0)
    }

    /// Makes mmap(2) fail as on a file system without shared memory, for SQLite's files in a folder of this name.
    private static let withoutSharedMemory: String = {
        typealias Map =
            @convention(c) (UnsafeMutableRawPointer?, Int, Int32, Int32, Int32, Int) -> UnsafeMutableRawPointer?
        let map: Map = { address, length, protection, flags, descriptor, offset in
            var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let count = path.withUnsafeMutableBytes {
                readlink("/proc/self/fd/\(descriptor)", $0.bindMemory(to: CChar.self).baseAddress!, $0.count)
            }
            guard count > 0, String(decoding: path.prefix(count), as: UTF8.self).contains("without-shared-memory")
            else {
                return mmap(address, length, protection, flags, descriptor, off_t(offset))
            }
            errno = ENODEV
            return MAP_FAILED
        }
        _ = try? Database(path: ":memory:")
        let vfs = sqlite3_vfs_find(nil)
        _ = vfs?.pointee.xSetSystemCall(vfs, "mmap", unsafeBitCast(map, to: sqlite3_syscall_ptr.self))
        return "without-shared-memory"
    }()

    /// Decisions are stored there as well, and a lost file is noticed.
    @Test func aFileSystemWithoutSharedMemory() async throws {
        let place = folder.file(StoreMendingTests.withoutSharedMemory)
        let paths = StorePaths(state: place + "/state", session: folder.path)
        for verdict in [Verdict.deny, .grant] {
            let store = openStore(paths)
            try await commit(store, set(verdict))
            try await commit(store, set(verdict, .always, .microphone))
            #expect(store.queue.state == .writable && store.queue.problems.isEmpty, "\(store.queue.problems)")
            await close(store)
            let again = openStore(paths)
            #expect(try await list(again) == ["\(verdict.rawValue) always", "\(verdict.rawValue) always"])
            await close(again)
        }
        let store = openStore(paths)
        try await commit(store, set(.deny))
        try #require(system("rm \(paths.stateFile)") == 0)
        await #expect(throws: StoreError.self) { try await commit(store, set(.grant)) }
        await close(store)
    }

    /// Whoever owns a link on the way to the store could lead permd elsewhere.
    @Test func aLinkOfAnotherUser() throws {
        let folder = try TemporaryFolder()
        try #require(mkdir(folder.file("disk"), 0o700) == 0)
        try #require(symlink("disk", folder.file("home")) == 0 && symlink("home/../home", folder.file("state")) == 0)
        for name in ["disk", "home", "state"] {
            #expect(StoreOpening.foreignLink(in: folder.file("\(name)/permd")) == nil)
        }
        // Only root can give a link away; to others, their own is one of another user.
        let isRoot = geteuid() == 0
        try #require(!isRoot || lchown(folder.file("home"), 65534, 65534) == 0)
        let user = isRoot ? 0 : geteuid() + 1
        #expect(StoreOpening.foreignLink(in: folder.file("home/permd"), for: user) == folder.file("home"))
        #expect(StoreOpening.foreignLink(in: folder.file("disk/permd"), for: user) == nil)
        if isRoot { #expect(StoreOpening.foreignLink(in: folder.file("state/permd")) == folder.file("home")) }
    }

    /// A home that is reached through a link, as on a second disk.
    @Test func aHomeBehindALink() async throws {
        try #require(system("mkdir \(folder.file("disk")) && ln -s disk \(folder.file("home"))") == 0)
        let paths = StorePaths(state: folder.file("home/state"), session: folder.file("home/run"))
        let store = openStore(paths)
        try await commit(store, set(.deny))
        #expect(store.queue.state == .writable && store.queue.problems.isEmpty, "\(store.queue.problems)")
        #expect(FileStatus(folder.file("disk/state/permd.db")) != nil)
        // The link leads elsewhere now: the file is lost.
        try #require(system("mkdir \(folder.file("other")) && ln -sfn other \(folder.file("home"))") == 0)
        await #expect(throws: StoreError.self) { try await commit(store, set(.grant)) }
        try await commit(store, set(.grant))
        #expect(FileStatus(folder.file("other/state/permd.db")) != nil)
        await close(store)
    }

    /// The folder itself, as dotfiles are kept elsewhere.
    @Test func theFolderIsALink() async throws {
        try #require(system("mkdir -m 700 \(folder.file("disk")) && ln -s disk \(folder.file("state"))") == 0)
        let paths = StorePaths(state: folder.file("state"), session: folder.file("run"))
        let store = openStore(paths)
        try await commit(store, set(.deny))
        #expect(store.queue.state == .writable && store.queue.problems.isEmpty, "\(store.queue.problems)")
        #expect(FileStatus(folder.file("disk/permd.db")) != nil)
        await close(store)
    }

    @Test func aFileThatCannotBeOpened() async throws {
        let store = open()
        try await commit(store, set(.deny))
        await close(store)
        // They stay beside the database, since without them it cannot be read on a read-only disk.
        #expect(FileStatus(paths.stateFile + "-wal")?.size == 0)
        #expect(FileStatus(paths.stateFile + "-shm") != nil)
        try obstruct()
        let again = await opened()
        #expect(
            again.queue.problems.contains { $0.contains("cannot be opened") && $0.contains("asking process only") })
        await #expect(throws: StoreError.self) { try await commit(again, set(.grant)) }
        try mend()
        try await commit(again, set(.grant, .always, .location))
        await written(again)
        #expect(again.appDecision(app, .camera)?.verdict == .deny)
        #expect(again.queue.state == .writable && again.queue.problems.isEmpty, "\(again.queue.problems)")
        #expect(try await list(again).sorted() == ["deny always", "grant always"])
        await close(again)
        let last = open()
        #expect(try await list(last).sorted() == ["deny always", "grant always"])
        await close(last)
    }

    /// The file contains a grant, and its log the removal of that grant: nothing is read.
    @Test func aFileIsNotReadWithoutItsLog() async throws {
        let store = open()
        try await commit(store, set(.grant))
        await close(store)
        let other = StorePaths(state: folder.file("other"), session: nil)
        let running = open()
        try await reset(running, app)
        try #require(mkdir(other.state, 0o700) == 0)
        for suffix in ["", "-wal"] {
            let copy = try ChildProcess("cp", [paths.stateFile + suffix, other.stateFile + suffix])
            try #require(await copy.waitForExit() == .exited(0))
        }
        await close(running)
        try obstruct(other)
        let again = await opened(other)
        let changes = EventLog<Bool>()
        again.onChange = { if case .read = $0 { changes.add(true) } }
        #expect(again.appDecision(app, .camera) == nil && again.queue.state != .writable)
        await #expect(throws: StoreError.self) { try await list(again) }
        try mend(other)
        try await commit(again, set(.deny, .always, .location))
        #expect(again.appDecision(app, .camera) == nil && again.queue.state == .writable)
        #expect(try await list(again) == ["deny always"])
        try await changes.wait(for: 1)
        await close(again)
    }

    @Test func aFolderThatReappears() async throws {
        let store = open()
        try await commit(store, set(.deny))
        await close(store)
        try #require(rename(paths.state, folder.file("away")) == 0)
        try folder.write("", to: "state")
        let again = await opened()
        let changes = EventLog<Bool>()
        again.onChange = { if case .read = $0 { changes.add(true) } }
        #expect(again.appDecision(app, .camera) == nil && again.queue.problems.count == 1)
        await #expect(throws: StoreError.self) { try await commit(again, set(.grant)) }
        // The decisions are unknown.
        await #expect(throws: StoreError.self) { try await list(again) }
        #expect(changes.all.isEmpty)
        try #require(unlink(paths.state) == 0 && rename(folder.file("away"), paths.state) == 0)
        // Whoever reads or writes next opens it.
        #expect(try await list(again) == ["deny always"])
        try await changes.wait(for: 1)
        // The app is not left without its decision.
        #expect(again.appDecision(app, .camera)?.verdict == .deny)
        try await commit(again, set(.deny, .always, .location))
        #expect(again.queue.state == .writable && again.queue.problems.isEmpty)
        await close(again)
    }

    @Test func aNewerFileIsLeftAlone() async throws {
        let store = open()
        try await commit(store, set(.grant))
        await close(store)
        try Database(path: paths.stateFile).execute("PRAGMA user_version = 999")
        let again = await opened()
        for _ in 0..<2 {
            await #expect(throws: StoreError.self) { try await commit(again, set(.deny)) }
            await #expect(throws: StoreError.self) { try await list(again) }
            #expect(again.queue.problems.count == 1 && again.queue.problems.contains { $0.contains("newer permd") })
        }
        #expect(try Database(path: paths.stateFile).integer("SELECT count(*) FROM decision") == 1)
        // The newer permd was removed, and an older file put back.
        try Database(path: paths.stateFile).execute("PRAGMA user_version = \(Schema.current.version)")
        try await commit(again, set(.deny))
        await close(again)
    }
}
