// The administrator's current rules and settings, updated when files change. The worker reads the files.

import DBus
import Glibc
import Logging
import PermissionModel
import System

@LoopActor
final class PolicySet {
    private(set) var rules: [Rule] = []
    /// Errors in files, and reasons why changes may go unnoticed.
    var problems: [PolicyProblem] { fileProblems + (watchProblem.map { [$0] } ?? []) }
    private(set) var settings = Settings()
    /// Saves and removes last valid texts of files in the store, then reports whether that is on disk.
    typealias Saving = @LoopActor (LastGoodFiles.Changes, _ then: @escaping @LoopActor (Bool) -> Void) -> Void
    var saveLastGood: Saving? {
        didSet { keepLastGood() }
    }
    /// Called when rules, settings or errors have changed.
    var onChange: (@LoopActor () -> Void)?

    /// The number of apps whose matching rules are cached: more than run at once on any desktop.
    private static let cachedApps = 4096
    /// Milliseconds from the last change of a file until it is read. An editor replaces a file in several steps, and
    /// between them the file restricts nothing.
    private static let settleTime: Int64 = 200
    /// Milliseconds until files are retried that could not be read or watched, for example for lack of descriptors.
    private static let retryTime: Int64 = 10_000
    /// A file that vanishes between listing and reading makes a reading wrong; one that keeps vanishing is an error.
    private static let maximumAttempts = 3

    private let folders: PolicyFolders
    private let worker: Worker
    private let log: Logger
    private var lastGood: LastGoodFiles
    private var isSaving = false
    private var fileProblems: [PolicyProblem] = []
    private var watchProblem: PolicyProblem?
    /// The rules that match an app.
    private var matching: [AppID: [Rule]] = [:]
    private var inotify: Inotify?
    private var settling: LoopTimer?
    private var retry: LoopTimer?
    /// What waits for the reading that is under way, and for the next one; nil if there is none.
    private var reading: [@LoopActor () -> Void]?
    private var next: [@LoopActor () -> Void]?

    /// Has no rules until ``read(_:)`` has ended.
    init(root: String, lastGood: [(path: String, text: String)], worker: Worker, log: Logger) {
        folders = PolicyFolders(root: root)
        self.worker = worker
        self.log = log
        self.lastGood = LastGoodFiles(lastGood)
    }

    isolated deinit { inotify?.close() }

    func isRestricted(_ app: AppID, _ permission: Permission) -> Bool { rule(.restrict, app, permission) != nil }

    func isGranted(_ app: AppID, _ permission: Permission) -> Bool { rule(.grant, app, permission) != nil }

    /// The first matching rule with that action.
    func rule(_ action: Rule.Action, _ app: AppID, _ permission: Permission) -> Rule? {
        rules.isEmpty ? nil : rules(about: app).first { $0.action == action && $0.permissions.contains(permission) }
    }

    private func rules(about app: AppID) -> [Rule] {
        if let known = matching[app] { return known }
        let name = app.description
        let found = rules.filter { $0.matches(name) }
        if matching.count >= PolicySet.cachedApps { matching.removeAll(keepingCapacity: true) }
        matching[app] = found
        return found
    }

    // MARK: Reading

    /// Reads everything again, then calls `completion`. A folder or file that does not answer in time is one with an
    /// error.
    func read(_ completion: @escaping @LoopActor () -> Void = {}) {
        guard reading == nil else {
            next = (next ?? []) + [completion]
            return
        }
        reading = [completion]
        list(attempt: 1)
    }

    private func list(attempt: Int) {
        inotify = inotify ?? Inotify { [weak self] in self?.filesChanged() }
        let unwatched = inotify == nil ? PolicyProblem(unwatched: "/", Inotify.reason(errno)) : nil
        let known = lastGood.paths
        worker.run(about: "rule files") { [folders, inotify] in
            // Watch first, so that no change between the listing and the watch is lost.
            (watch: inotify.map(folders.watch) ?? unwatched, listings: folders.listings(known: known))
        } then: { [weak self] found in
            guard let self else { return }
            let problem = found?.watch
            if let problem, problem != watchProblem { log.warning("\(problem.text)") }
            watchProblem = problem
            let files = folders.files(found?.listings ?? folders.unanswered(known: known))
            read(files, then: { [weak self] in self?.adopt(files, $0, attempt) })
        }
    }

    private typealias Contents = [ExactText: Result<[UInt8], RegularFile.Failure>]

    private func read(_ files: ListedFiles, then completion: @escaping @LoopActor (Contents) -> Void) {
        let paths = files.rules + files.settings
        var contents: Contents = [:]
        guard !paths.isEmpty else { return completion(contents) }
        for path in paths {
            worker.run(about: path) {
                PolicyFolders.read(path)
            } then: {
                contents[ExactText(path)] = $0 ?? .failure(.unanswered)
                if contents.count == paths.count { completion(contents) }
            }
        }
    }

    private func adopt(_ files: ListedFiles, _ contents: Contents, _ attempt: Int) {
        if attempt < PolicySet.maximumAttempts, contents.values.contains(where: \.isAbsent) {
            return list(attempt: attempt + 1)
        }
        let result = PolicyReading(files, contents, lastGood: lastGood)
        for problem in result.problems where !fileProblems.contains(problem) { log.error("\(problem.text)") }
        let isChanged = result.rules != rules || result.problems != fileProblems || result.settings != settings
        (rules, settings, fileProblems, lastGood) = (result.rules, result.settings, result.problems, result.lastGood)
        matching = [:]
        keepLastGood()
        if result.mayPass || watchProblem != nil { tryLater() }
        if isChanged { onChange?() }
        let done = reading ?? []
        reading = next
        next = nil
        if reading != nil { list(attempt: 1) }
        for completion in done { completion() }
    }

    /// Saves the texts that are not saved yet. If that fails, it is retried after the next reading and when the store
    /// can be written again.
    func keepLastGood() {
        guard let saveLastGood, !isSaving, let changes = lastGood.unsaved else { return }
        isSaving = true
        saveLastGood(changes) { [weak self] isSaved in
            guard let self else { return }
            isSaving = false
            guard isSaved else { return }
            lastGood.saved(changes)
            keepLastGood()
        }
    }

    // MARK: Noticing changes

    private func filesChanged() {
        var isOurs = false
        inotify?.read { _, _, name in
            isOurs = isOurs || PolicySet.isOurs(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
        }
        guard isOurs else { return }
        settling?.cancel()
        settling = Loop.shared.after(milliseconds: PolicySet.settleTime) { [weak self] in
            self?.settling = nil
            self?.read()
        }
    }

    /// Other files change too in the nearest existing parent of a missing folder. An empty name means the folder or
    /// everything.
    private static func isOurs(_ name: String) -> Bool {
        name.isEmpty || name.hasSuffix(".conf")
            || ["permd", "policy.d", "permd.conf.d", "etc", "run", "usr", "lib"].contains(name)
    }

    private func tryLater() {
        guard retry == nil else { return }
        retry = Loop.shared.after(milliseconds: PolicySet.retryTime) { [weak self] in
            self?.retry = nil
            self?.read()
        }
    }
}

extension Result<[UInt8], RegularFile.Failure> {
    fileprivate var isAbsent: Bool {
        if case .failure(let failure) = self { failure.isAbsent } else { false }
    }
}
