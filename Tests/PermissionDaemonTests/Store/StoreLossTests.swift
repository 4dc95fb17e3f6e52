// Files are removed, replaced or damaged while the store is open: that is noticed before anything is acknowledged.

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
struct StoreLossTests {
    private let folder = try! TemporaryFolder()
    private let app = AppID("exe:/usr/bin/a")!
    private let process = ProcessKey(pid: 77, startTime: 5)

    private var paths: StorePaths { StorePaths(state: folder.file("state"), session: folder.file("run")) }

    private func open(_ paths: StorePaths? = nil) -> DecisionStore {
        openStore(paths ?? self.paths)
    }

    /// A store whose file has been read.
    private func opened() async -> DecisionStore {
        let store = open()
        await written(store)
        return store
    }

    private func set(_ verdict: Verdict, _ permission: Permission, _ duration: Duration = .always) -> Decision {
        Decision(
            app: app, permission: permission, verdict: verdict, duration: duration, decided: 1, by: .permctl,
            process: duration == .once ? process : nil)
    }

    enum Loss: String, CaseIterable, Sendable {
        case file, log, shared, allFiles, folder, folderMoved, otherFile, otherLog, fileFIFO, logFIFO, fileLink
        case fileDirectory, parent
    }

    private func inflict(_ loss: Loss, _ path: String) throws {
        let folder = String(path[..<path.lastIndex(of: "/")!])
        let run: (String) throws -> Void = { command in
            try #require(system(command) == 0, "\(command)")
        }
        switch loss {
        case .file: try run("rm -f \(path)")
        case .log: try run("rm -f \(path)-wal")
        case .shared: try run("rm -f \(path)-shm")
        case .allFiles: try run("rm -f \(path) \(path)-wal \(path)-shm")
        case .folder: try run("rm -r \(folder)")
        case .folderMoved: try run("mv \(folder) \(folder).away && mkdir \(folder)")
        case .otherFile:
            try Database(path: path + ".other").execute("CREATE TABLE word (text TEXT)")
            try run("mv \(path).other \(path)")
        case .otherLog: try run("echo nonsense >\(path)-new && mv \(path)-new \(path)-wal")
        case .fileFIFO: try run("rm -f \(path) && mkfifo \(path)")
        case .logFIFO: try run("rm -f \(path)-wal && mkfifo \(path)-wal")
        case .fileLink: try run("mv \(path) \(path).away && ln -s \(path).away \(path)")
        case .fileDirectory: try run("rm -f \(path) && mkdir -p \(path)/a")
        case .parent: try run("mv \(self.folder.path) \(self.folder.path).away && mkdir \(self.folder.path)")
        }
    }

    /// The decisions that permd would find if it were killed now and started again.
    private func afterKill() async throws -> [String] {
        let copy = folder.file("copy")
        try #require(system("rm -rf \(copy) && mkdir \(copy)") == 0)
        for part in ["state", "run"] where FileStatus(folder.file(part)) != nil {
            try #require(system("cp -a \(folder.file(part)) \(copy)/") == 0)
        }
        let again = open(StorePaths(state: copy + "/state", session: copy + "/run"))
        let found = try await list(again).sorted()
        await close(again)
        return found
    }

    /// Whether a store that was not closed can be opened at once afterwards: nothing that is no regular file is in the
    /// way. What it has then is what is in the file.
    private static func isOpened(_ loss: Loss) -> Bool {
        ![.fileFIFO, .logFIFO, .fileLink, .fileDirectory].contains(loss)
    }

    /// A file that is lost before rows of the history are written is noticed then, but the next change fails, too: it was
    /// not meant for the file that is there now.
    @Test func whatNobodyWaitsForLeavesALossToTheNextChange() async throws {
        let store = open()
        try await commit(store, set(.deny, .camera))
        await written(store)
        try inflict(.allFiles, paths.stateFile)
        store.history.record([
            HistoryRow(
                time: 1, request: "", app: app, item: .permission(.camera), outcome: .denied, by: .person)
        ])
        await written(store)
        await #expect(throws: StoreError.self) { try await commit(store, set(.grant, .camera)) }
        try await commit(store, set(.grant, .microphone))
        #expect(try await list(store) == ["grant always"])
        await close(store)
    }

    @Test(arguments: Loss.allCases)
    func aLossIsNoticed(_ loss: Loss) async throws {
        let store = open()
        await written(store)
        try await commit(store, set(.deny, .location))
        let read = EventLog<Bool>()
        store.onChange = { if case .read = $0 { read.add(true) } }
        try inflict(loss, paths.stateFile)
        await #expect(throws: StoreError.self) { try await commit(store, set(.grant, .camera)) }
        #expect(store.appDecision(app, .camera) == nil)
        #expect(store.queue.problems.contains { $0.contains("while permd ran") }, "\(store.queue.problems)")
        guard StoreLossTests.isOpened(loss) else {
            // Until it is moved away.
            await #expect(throws: StoreError.self) { try await commit(store, set(.grant, .camera)) }
            #expect(store.queue.state != .writable)
            return await close(store)
        }
        #expect(store.queue.state == .writable)
        // Memory says what the file says.
        try await read.wait(for: 1)
        let isThere = try await list(store).contains("deny always")
        #expect((store.appDecision(app, .location) != nil) == isThere)
        try await commit(store, set(.grant, .microphone), set(.deny, .location))
        #expect(try await afterKill() == ["deny always", "grant always"])
        // A second loss is noticed, too.
        try inflict(.allFiles, paths.stateFile)
        await #expect(throws: StoreError.self) { try await commit(store, set(.grant, .camera)) }
        try await commit(store, set(.deny, .microphone))
        #expect(try await afterKill() == ["deny always"])
        await close(store)
    }

    /// The database has what its lost log had: SQLite writes it there when the files are closed.
    @Test(arguments: [Loss.log, .shared])
    func theDatabaseKeepsWhatALostLogHad(_ loss: Loss) async throws {
        let store = open()
        try await commit(store, set(.deny, .location))
        try inflict(loss, paths.stateFile)
        await #expect(throws: StoreError.self) { try await commit(store, set(.grant, .camera)) }
        #expect(try await list(store) == ["deny always"])
        await close(store)
    }

    /// A loss is noticed by whoever reads, as well.
    @Test func aLossIsNoticedByAReader() async throws {
        let store = open()
        try await commit(store, set(.deny, .location))
        try inflict(.allFiles, paths.stateFile)
        await #expect(throws: StoreError.self) { try await history(store) }
        #expect(try await list(store).isEmpty)
        await close(store)
    }

    @Test(arguments: [
        Loss.file, .allFiles, .folder, .folderMoved, .otherFile, .fileFIFO, .fileLink, .parent,
    ])
    func theSessionSurvives(_ loss: Loss) async throws {
        let store = open()
        try await commit(store, set(.deny, .location, .session), set(.grant, .microphone, .once))
        try inflict(loss, try #require(paths.sessionFile))
        // The file of decisions has gone, too: it is opened again.
        if loss == .parent { await #expect(throws: StoreError.self) { try await history(store) } }
        try await commit(store, set(.grant, .camera, .session))
        let earlier = loss == .parent ? [] : ["deny session", "grant once"]
        #expect(try await afterKill() == earlier + ["grant session"])
        await close(store)
    }

    /// A truncated file keeps its inode.
    @Test(arguments: ["", "-wal"])
    func truncatedFiles(_ suffix: String) async throws {
        let store = open()
        try await commit(store, set(.deny, .location))
        try #require(truncate(paths.stateFile + suffix, 0) == 0)
        await #expect(throws: StoreError.self) { try await commit(store, set(.grant, .camera)) }
        #expect(store.queue.problems.contains { $0.contains("while permd ran") }, "\(store.queue.problems)")
        try await commit(store, set(.grant, .microphone))
        #expect(try await afterKill().contains("grant always"))
        await close(store)
    }

    /// Of many changes, all those are in the files at the end that were acknowledged after the last loss.
    @Test func filesLostDuringManyWrites() async throws {
        let store = open()
        let done = EventLog<String?>()
        for number in 0..<400 {
            let app = AppID("exe:/usr/bin/a\(number)")!
            let decision = Decision(
                app: app, permission: .camera, verdict: .grant, duration: .always, decided: 1, by: .permctl)
            store.set([decision], history: []) { done.add($0.error == nil ? app.description : nil) }
            if number == 200 {
                // While other decisions are being written.
                try await done.wait(for: 100)
                try inflict(.allFiles, paths.stateFile)
            }
        }
        let results = try await done.wait(for: 400)
        let loss = try #require(results.lastIndex(of: nil))
        #expect(loss < 399)
        let copy = folder.file("copy")
        try #require(system("mkdir \(copy) && cp -a \(folder.file("state")) \(copy)/") == 0)
        let again = open(StorePaths(state: copy + "/state", session: nil))
        let there = Set(try await decisions(again).map(\.app.description))
        #expect(there.isSuperset(of: results[loss...].compactMap { $0 }))
        await close(again)
        await close(store)
    }

    // MARK: Not a regular file

    @Test(arguments: ["", "-wal", "-shm", "-journal"], ["mkfifo", "mkdir", "ln -s /dev/zero"])
    func onlyRegularFilesAreOpened(_ suffix: String, _ command: String) async throws {
        let store = open()
        try await commit(store, set(.deny, .location))
        await close(store)
        let path = paths.stateFile + suffix
        try #require(system("rm -f \(path) && \(command) \(path)") == 0)
        let again = open()
        await written(again)
        #expect(again.queue.state != .writable)
        #expect(again.queue.problems.contains { $0.contains("\(path) is ") }, "\(again.queue.problems)")
        await #expect(throws: StoreError.self) { try await commit(again, set(.grant, .camera)) }
        try #require(system("rm -r \(path)") == 0)
        try await commit(again, set(.grant, .camera))
        #expect(
            try await list(again).sorted() == (suffix.isEmpty ? ["grant always"] : ["deny always", "grant always"]))
        await close(again)
    }

    // MARK: Damage

    /// What is acknowledged after the file was found to be damaged is in the new file.
    @Test func aFileThatIsDamagedWhilePermdRuns() async throws {
        let first = await opened()
        try await decide(0..<300, first)
        await close(first)
        let store = await opened()
        let results = EventLog<Bool>()
        try damage()
        for number in 300..<900 {
            store.set([decision(number)], history: []) { results.add($0.error == nil) }
        }
        try await results.wait(for: 600)
        await written(store)
        #expect(store.queue.state == .writable)
        #expect(store.queue.problems.contains { $0.contains("set aside") }, "\(store.queue.problems)")
        try await decide(900..<1000, store)
        let there = try await decisions(store)
        #expect(there.count >= 100)
        await close(store)
        let again = await opened()
        #expect(try await decisions(again) == there)
        #expect(again.queue.problems.isEmpty, "\(again.queue.problems)")
        await close(again)
    }

    private func decision(_ number: Int) -> Decision {
        Decision(
            app: AppID("exe:/b\(number)")!, permission: .camera, verdict: .deny, duration: .always, decided: 1,
            by: .permctl)
    }

    private func decide(_ numbers: Range<Int>, _ store: DecisionStore) async throws {
        for number in numbers { try await commit(store, decision(number)) }
    }

    /// Overwrites every page but the first, as a failing disk might.
    private func damage() throws {
        let fd = Glibc.open(paths.stateFile, O_WRONLY | O_CLOEXEC)
        try #require(fd >= 0)
        defer { Glibc.close(fd) }
        let noise = [UInt8](repeating: 0xA5, count: 256 << 10)
        try #require(pwrite(fd, noise, noise.count, 4096) == noise.count)
    }
}
