// The administrator's current rules and configuration, updated when files change. The worker reads the files.

import DBus
import Glibc
import Logging
import PermissionModel
import PolicyFiles
import System

@LoopActor
final class RuleSet {
    private(set) var rules: [Rule] = []
    /// Those before the last change.
    private var formerRules: [Rule] = []
    /// Errors in files, and reasons why changes may go unnoticed.
    private(set) var problems: [RuleProblem] = []
    private(set) var configuration = Configuration()
    /// Saves the texts of files in the store, in place of all others, then reports whether that is on disk.
    typealias Saving = @LoopActor (_ texts: [ExactText: ExactText], _ then: @escaping @LoopActor (Bool) -> Void) -> Void
    var onValidTexts: Saving? {
        didSet { saveValidTexts() }
    }
    /// Called when rules, configuration or errors have changed.
    var onChange: (@LoopActor () -> Void)?

    /// Milliseconds until files are retried that could not be read or watched, for example for lack of descriptors.
    private static let retryTime: Int64 = 10_000

    private let folders: RuleFolders
    private let worker: Worker
    private let log: Logger
    /// The last valid text of each file, by path, and what the store has of that.
    private var (validTexts, savedTexts): ([ExactText: ExactText], [ExactText: ExactText])
    private var isSaving = false
    private var inotify: Inotify?
    private var settling: LoopTimer?
    private var settleTime = SettleTime()
    private var retry: LoopTimer?
    /// The number of the newest reading. An older one that is still under way changes nothing.
    private var reading = 0
    private var waiting: [@LoopActor () -> Void] = []

    /// Has no rules until ``read(_:)`` has ended.
    ///
    /// - Parameter saved: The texts that earlier runs have saved.
    init(root: String, saved: [(path: String, text: String)], worker: Worker, log: Logger) {
        folders = RuleFolders(root: root)
        self.worker = worker
        self.log = log
        savedTexts = Dictionary(saved.map { (ExactText($0.path), ExactText($0.text)) }) { _, last in last }
        validTexts = savedTexts
    }

    isolated deinit { inotify?.close() }

    func isRestricted(_ app: AppID, _ permission: Permission) -> Bool { rule(.restrict, app, permission) != nil }

    func isGranted(_ app: AppID, _ permission: Permission) -> Bool { rule(.grant, app, permission) != nil }

    /// Whether it was granted before the rules changed last.
    func wasGranted(_ app: AppID, _ permission: Permission) -> Bool {
        RuleSet.rule(.grant, app, permission, in: formerRules) != nil
    }

    /// The first matching rule with that action.
    func rule(_ action: Rule.Action, _ app: AppID, _ permission: Permission) -> Rule? {
        RuleSet.rule(action, app, permission, in: rules)
    }

    private static func rule(
        _ action: Rule.Action, _ app: AppID, _ permission: Permission, in rules: [Rule]
    ) -> Rule? {
        rules.first { $0.action == action && $0.permissions.contains(permission) && $0.matches(app) }
    }

    // MARK: Reading

    /// Reads everything again, then calls `completion`. A folder or file that does not answer in time is one with an
    /// error.
    func read(_ completion: @escaping @LoopActor () -> Void = {}) {
        waiting.append(completion)
        reading += 1
        let number = reading
        inotify = inotify ?? Inotify { [weak self] in self?.filesChanged() }
        let unwatched = inotify == nil ? RuleProblem(unwatched: "/", Inotify.reason(errno)) : nil
        worker.run(about: "rule files") { [folders, inotify] in
            // Watch first, so that no change between the listing and the watch is lost.
            (unwatched: inotify.map { folders.watch($0) } ?? unwatched, listings: folders.listings())
        } then: { [weak self] found in
            guard let self, number == reading else { return }
            let files = folders.files(found?.listings, known: Set(validTexts.keys))
            read(files) { [weak self] contents in
                guard let self, number == reading else { return }
                followLinks(RuleReading(files, contents, validTexts: validTexts)) { [weak self] in
                    guard let self, number == reading else { return }
                    apply($0, found?.unwatched)
                }
            }
        }
    }

    /// If a folder does not answer in time, rules match what they say.
    private func followLinks(_ result: RuleReading, then completion: @escaping @LoopActor (RuleReading) -> Void) {
        guard !result.rules.isEmpty else { return completion(result) }
        worker.run(about: "links in rules") {
            result.followingLinks()
        } then: {
            completion($0 ?? result)
        }
    }

    private func read(_ files: ListedFiles, then completion: @escaping @LoopActor (RuleReading.Contents) -> Void) {
        let paths = files.rules + files.configuration
        var contents: RuleReading.Contents = [:]
        guard !paths.isEmpty else { return completion(contents) }
        for path in paths {
            worker.run(about: path) {
                RuleFolders.read(path)
            } then: {
                contents[ExactText(path)] = $0 ?? .failure(.unanswered)
                if contents.count == paths.count { completion(contents) }
            }
        }
    }

    private func apply(_ result: RuleReading, _ unwatched: RuleProblem?) {
        let found = result.problems + (unwatched.map { [$0] } ?? [])
        for problem in found where !problems.contains(problem) { log.error("\(problem.text)") }
        let isChanged = result.rules != rules || found != problems || result.configuration != configuration
        if result.rules != rules { formerRules = rules }
        (rules, configuration, problems, validTexts) = (result.rules, result.configuration, found, result.validTexts)
        saveValidTexts()
        if result.mayPass || unwatched != nil { readLater() }
        if isChanged { onChange?() }
        let done = waiting
        waiting = []
        for completion in done { completion() }
    }

    /// Saves the texts if the store has others. If that fails, it is retried after the next reading and when the store
    /// can be written again.
    func saveValidTexts() {
        guard let onValidTexts, !isSaving, validTexts != savedTexts else { return }
        isSaving = true
        let texts = validTexts
        onValidTexts(texts) { [weak self] isSaved in
            guard let self else { return }
            isSaving = false
            guard isSaved else { return }
            savedTexts = texts
            saveValidTexts()
        }
    }

    // MARK: Noticing changes

    /// In the nearest existing parent of a missing folder other files change, too.
    private func filesChanged() {
        inotify?.read { _, _, _ in }
        settling?.cancel()
        let pause = settleTime.changed(at: Loop.uptimeMilliseconds())
        settling = Loop.shared.after(milliseconds: pause) { [weak self] in
            self?.settling = nil
            self?.settleTime.end()
            self?.read()
        }
    }

    private func readLater() {
        guard retry == nil else { return }
        retry = Loop.shared.after(milliseconds: RuleSet.retryTime) { [weak self] in
            self?.retry = nil
            self?.read()
        }
    }
}
