// Files are removed or replaced while the store is open: acknowledged decisions are in the files at its path.

import DBus
import Glibc
import PermissionCore
import PermissionModel
import PermissionTestKit
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

    private func set(_ verdict: Verdict, _ permission: Permission, _ duration: Duration = .always) -> Change {
        .set(
            Decision(
                app: app, permission: permission, verdict: verdict, duration: duration, decided: 1, by: .permctl,
                process: duration == .once ? process : nil))
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
        for part in ["state", "run"] {
            try #require(system("cp -a \(folder.file(part)) \(copy)/") == 0)
        }
        let again = open(StorePaths(state: copy + "/state", session: copy + "/run"))
        let found = try list(again).sorted()
        await close(again)
        return found
    }

    @Test(arguments: Loss.allCases)
    func acknowledgedDecisionsSurvive(_ loss: Loss) async throws {
        let store = open()
        try await commit(store, set(.deny, .location))
        try inflict(loss, paths.stateFile)
        try await commit(store, set(.grant, .camera))
        #expect(try await afterKill() == ["deny always", "grant always"])
        #expect(try list(store).sorted() == ["deny always", "grant always"])
        #expect(store.state == .writable)
        #expect(store.findings.contains { $0.contains("while permd ran") }, "\(store.findings)")
        // The store works on, and a second loss is noticed too.
        try await commit(store, .remove(DecisionFilter(app: app, permission: .location)))
        #expect(try await afterKill() == ["grant always"])
        try inflict(.allFiles, paths.stateFile)
        try await commit(store, set(.deny, .microphone))
        #expect(try await afterKill() == ["deny always", "grant always"])
        await close(store)
        let again = open()
        #expect(try list(again).sorted() == ["deny always", "grant always"])
        await close(again)
    }

    /// The writer opens its files at its first write.
    @Test(arguments: Loss.allCases)
    func filesLostBeforeTheFirstWrite(_ loss: Loss) async throws {
        let first = open()
        try await commit(first, set(.deny, .location))
        await close(first)
        let store = open()
        try inflict(loss, paths.stateFile)
        try await commit(store, set(.grant, .camera))
        #expect(try await afterKill() == ["deny always", "grant always"])
        await close(store)
    }

    @Test(arguments: [
        Loss.file, .allFiles, .folder, .folderMoved, .otherFile, .fileFIFO, .fileLink, .fileDirectory, .parent,
    ])
    func theSessionsTokenSurvives(_ loss: Loss) async throws {
        let store = open()
        try await commit(store, set(.deny, .location, .session), set(.grant, .microphone, .once))
        try inflict(loss, try #require(paths.sessionFile))
        try await commit(store, set(.grant, .camera, .session))
        #expect(try await afterKill() == ["deny session", "grant once", "grant session"])
        #expect(store.findings.contains { $0.contains("while permd ran") }, "\(store.findings)")
        await close(store)
    }

    /// A truncated file keeps its inode; the decisions in memory are written again.
    @Test(arguments: ["", "-wal"])
    func truncatedFiles(_ suffix: String) async throws {
        let store = open()
        try await commit(store, set(.deny, .location))
        #expect(store.appDecision(app, .location)?.verdict == .deny)
        try #require(truncate(paths.stateFile + suffix, 0) == 0)
        try await commit(store, set(.grant, .camera))
        #expect(try await afterKill() == ["deny always", "grant always"])
        #expect(store.findings.contains { $0.contains("while permd ran") }, "\(store.findings)")
        await close(store)
    }

    /// Every acknowledged decision survives, at whatever moment the files are removed.
    @Test func filesLostDuringManyWrites() async throws {
        let store = open()
        try await commit(store, set(.deny, .location))
        let done = EventLog<String>()
        for number in 0..<400 {
            let app = AppID("exe:/usr/bin/a\(number)")!
            let decision = Decision(
                app: app, permission: .camera, verdict: .grant, duration: .always, decided: 1, by: .permctl)
            store.commit([.set(decision)], history: []) { result in
                done.add((try? result.get()) == nil ? "failed" : app.description)
            }
            if number % 50 == 0 {
                // While other decisions are being written.
                try await done.wait(for: number / 2)
                try inflict(number % 100 == 0 ? .allFiles : .log, paths.stateFile)
            }
        }
        let told = try await done.wait(for: 400)
        #expect(!told.contains("failed"))
        let copy = folder.file("copy")
        try #require(system("mkdir \(copy) && cp -a \(folder.file("state")) \(copy)/") == 0)
        let again = open(StorePaths(state: copy + "/state", session: nil))
        let there = Set(
            try again.listDecisions().map(\.app.description))
        #expect(there.isSuperset(of: told))
        await close(again)
        await close(store)
    }

    /// Nothing is acknowledged until the files can be written again; then everything is in them.
    @Test func filesThatCannotBeRestored() async throws {
        let store = open()
        try await commit(store, set(.deny, .location))
        try #require(system("rm -r \(paths.state) && echo >\(paths.state)") == 0)
        await #expect(throws: StoreError.self) { try await commit(store, set(.grant, .camera)) }
        #expect(store.state != .writable && !store.findings.isEmpty)
        // Earlier decisions still hold.
        #expect(store.appDecision(app, .location)?.verdict == .deny)
        #expect(store.appDecision(app, .camera) == nil)
        await #expect(throws: StoreError.self) { try await commit(store, set(.grant, .camera)) }
        try #require(unlink(paths.state) == 0)
        try await commit(store, set(.grant, .microphone))
        #expect(store.state == .writable)
        #expect(try await afterKill() == ["deny always", "grant always"])
        #expect(store.appDecision(app, .camera) == nil)
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
        #expect(again.state != .writable)
        #expect(again.findings.contains { $0.contains("\(path) is ") }, "\(again.findings)")
        await #expect(throws: StoreError.self) { try await commit(again, set(.grant, .camera)) }
        try #require(system("rm -r \(path)") == 0)
        try await commit(again, set(.grant, .camera))
        #expect(try list(again).sorted() == (suffix.isEmpty ? ["grant always"] : ["deny always", "grant always"]))
        await close(again)
    }
}
