// The administrator's current rules and settings, updated when files change.

import DBus
import Logging
import PermissionModel
import System

struct PolicyProblem: Sendable, Hashable {
    let file: String
    /// 0 means the whole file.
    let line: Int
    let message: String

    fileprivate var text: String { line == 0 ? "\(file): \(message)" : "\(file):\(line): \(message)" }
}

@LoopActor
final class PolicySet {
    private(set) var rules: [Rule] = []
    /// Errors in files, and reasons why changes may go unnoticed.
    var problems: [PolicyProblem] { fileProblems + (watch?.problem.map { [$0] } ?? []) }
    private(set) var settings = Settings()
    /// Saves and removes last valid texts of files in the store, then reports whether that is on disk.
    typealias Saving = @LoopActor (LastGoodFiles.Changes, _ then: @escaping @LoopActor (Bool) -> Void) -> Void
    var saveLastGood: Saving? {
        didSet { keepLastGood() }
    }

    private struct Answer {
        var restricted: Set<Permission> = []
        var granted: Set<Permission> = []
    }

    /// The number of apps whose matching rules are cached: more than run at once on any desktop.
    private static let cachedApps = 4096
    /// Milliseconds from the first change of a file until it is read. An editor replaces a file in several steps, and
    /// between them the file restricts nothing.
    private static let settleTime: Int64 = 200
    /// Milliseconds until files are retried that could not be read or watched, for example for lack of descriptors.
    private static let retryTime: Int64 = 10_000

    private let folders: PolicyFolders
    private let log: Logger
    private var lastGood: LastGoodFiles
    private var isSaving = false
    private var fileProblems: [PolicyProblem] = []
    private var answers: [AppID: Answer] = [:]
    private var watch: FolderWatch?
    private var isReadingSoon = false
    private var retry: LoopTimer?
    private var onChange: (@LoopActor () -> Void)?

    init(root: String, lastGood: [(path: String, text: String)], log: Logger) {
        folders = PolicyFolders(root: root)
        self.log = log
        self.lastGood = LastGoodFiles(lastGood)
        _ = reload()
    }

    func isRestricted(_ app: AppID, _ permission: Permission) -> Bool {
        !rules.isEmpty && answer(app).restricted.contains(permission)
    }

    func isGranted(_ app: AppID, _ permission: Permission) -> Bool {
        !rules.isEmpty && answer(app).granted.contains(permission)
    }

    /// The first matching rule with that action.
    func rule(_ action: Rule.Action, _ app: AppID, _ permission: Permission) -> Rule? {
        let name = app.description
        return rules.first { $0.action == action && $0.permissions.contains(permission) && $0.matches(name) }
    }

    private func answer(_ app: AppID) -> Answer {
        if let known = answers[app] { return known }
        var answer = Answer()
        let name = app.description
        for rule in rules where rule.matches(name) {
            switch rule.action {
            case .restrict: answer.restricted.formUnion(rule.permissions)
            case .grant: answer.granted.formUnion(rule.permissions)
            }
        }
        if answers.count >= PolicySet.cachedApps { answers.removeAll(keepingCapacity: true) }
        answers[app] = answer
        return answer
    }

    // MARK: Reading

    /// Reads everything again. Returns whether anything has changed.
    func reload() -> Bool {
        let found = (rules: folders.rules(known: lastGood.paths), settings: folders.settings(known: lastGood.paths))
        var reading = Reading()
        for (path, failure) in found.rules.unreadable + found.settings.unreadable {
            reading.note(path, 0, "\(failure.reason); what its files restricted or set before stays", failure)
        }
        var rules: [Rule] = []
        for file in found.rules.files { rules += self.rules(of: file, &reading) }
        var settings = Settings()
        for file in found.settings.files { apply(file, to: &settings, &reading) }
        lastGood.drop(except: found.rules.present.union(found.settings.present))
        for problem in reading.problems where !fileProblems.contains(problem) { log.error("\(problem.text)") }
        let isChanged = rules != self.rules || reading.problems != fileProblems || settings != self.settings
        self.rules = rules
        self.settings = settings
        fileProblems = reading.problems
        answers = [:]
        keepLastGood()
        if reading.mayPass { tryLater() }
        return isChanged
    }

    private struct Reading {
        var problems: [PolicyProblem] = []
        /// Whether a retry may help even if no file changes.
        var mayPass = false

        mutating func note(_ file: String, _ line: Int, _ message: String, _ failure: RegularFile.Failure? = nil) {
            problems.append(PolicyProblem(file: file, line: line, message: message))
            mayPass = mayPass || failure?.isPassing == true
        }
    }

    /// The rules of a valid file; of an invalid one, the restrictions of its last valid version.
    private func rules(of file: FoundFile, _ reading: inout Reading) -> [Rule] {
        var rules: [Rule] = []
        let isGood = take(file, "what it restricted before stays restricted", &reading) {
            (text) throws(FileProblem) in rules = try Rule.read(text, file: file.path)
        }
        if isGood { return rules }
        guard let text = lastGood[file.path], let old = try? Rule.read(text, file: file.path) else { return [] }
        return old.filter { $0.action == .restrict }
    }

    /// Applies the settings of a valid file, or those of its last valid version: the defaults may allow more.
    private func apply(_ file: FoundFile, to settings: inout Settings, _ reading: inout Reading) {
        let isGood = take(file, "what it set before stays", &reading) {
            (text) throws(FileProblem) in try SettingsFile.read(text, into: &settings)
        }
        if !isGood, let text = lastGood[file.path] { try? SettingsFile.read(text, into: &settings) }
    }

    /// Reads a file. If it is valid, keeps its text as the last valid one and returns true.
    private func take(
        _ file: FoundFile, _ consequence: String, _ reading: inout Reading,
        _ body: (String) throws(FileProblem) -> Void
    ) -> Bool {
        let end = lastGood[file.path] == nil ? "the file is ignored" : "the file is ignored, but \(consequence)"
        switch file.content {
        case .failure(let failure):
            reading.note(file.path, 0, "\(failure.reason); \(end)", failure)
        case .success(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                reading.note(file.path, 0, "the file is not UTF-8; \(end)")
                return false
            }
            do throws(FileProblem) {
                try body(text)
                lastGood.keep(text, of: file.path)
                return true
            } catch {
                reading.note(file.path, error.line, "\(error.message); \(end)")
            }
        }
        return false
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

    /// Calls `onChange` after files have changed and were read. If already started, it only replaces `onChange`.
    func start(onChange: @escaping @LoopActor () -> Void) {
        self.onChange = onChange
        guard watch == nil else { return }
        watch = FolderWatch { [weak self] in self?.filesChanged($0) }
        watchFolders()
    }

    private func watchFolders() {
        guard let watch else { return }
        let before = watch.problem
        watch.watch(folders.watched())
        guard let problem = watch.problem else { return }
        if problem != before { log.warning("\(problem.text)") }
        tryLater()
    }

    /// Other files change too in the nearest existing parent of a missing folder, so names are checked.
    private func filesChanged(_ names: [String]) {
        guard !isReadingSoon, names.contains(where: PolicySet.isOurs) else { return }
        isReadingSoon = true
        Loop.shared.after(milliseconds: PolicySet.settleTime) { [weak self] in
            self?.isReadingSoon = false
            self?.reloadAndTell()
        }
    }

    private static func isOurs(_ name: String) -> Bool {
        name.isEmpty || name.hasSuffix(".conf")
            || ["permd", "policy.d", "permd.conf.d", "etc", "run", "usr", "lib"].contains(name)
    }

    private func tryLater() {
        guard retry == nil else { return }
        retry = Loop.shared.after(milliseconds: PolicySet.retryTime) { [weak self] in
            self?.retry = nil
            self?.reloadAndTell()
        }
    }

    /// Reads everything again and notifies, as SIGHUP requires.
    func reloadAndTell() {
        watchFolders()
        if reload() { onChange?() }
    }
}
