// The administrator's rules and settings as they hold now, kept true while files change.

import CLinux
import DBus
import Glibc
import Logging
import PermissionModel

struct PolicyProblem: Sendable, Hashable {
    let file: String
    /// 0 is the whole file.
    let line: Int
    let message: String
}

@LoopActor
final class RuleBook {
    private(set) var rules: [Rule] = []
    private(set) var problems: [PolicyProblem] = []
    private(set) var settings = Settings()
    /// Rule files that are good as they are now, to be kept for bad days, and those that are gone.
    var saveLastGood: (@LoopActor ([(path: String, text: String)], _ removed: [String]) -> Void)? {
        didSet { keepLastGood() }
    }

    private struct Answer {
        var restricted: Set<Permission> = []
        var granted: Set<Permission> = []
    }

    /// Apps whose rules are kept matched: more than run at once on any desktop.
    private static let cachedApps = 4096

    private let folders: PolicyFolders
    private let log: Logger
    private var lastGood: [String: String]
    private var unsaved: [String: String] = [:]
    private var gone: [String] = []
    private var answers: [AppID: Answer] = [:]
    private var inotify: Int32 = -1
    private var onChange: (@LoopActor () -> Void)?

    init(root: String, lastGood: [(path: String, text: String)], log: Logger) {
        folders = PolicyFolders(root: root)
        self.log = log
        self.lastGood = Dictionary(lastGood.map { ($0.path, $0.text) }) { _, last in last }
        _ = reload()
    }

    func isRestricted(_ app: AppID, _ permission: Permission) -> Bool {
        !rules.isEmpty && answer(app).restricted.contains(permission)
    }

    func isGranted(_ app: AppID, _ permission: Permission) -> Bool {
        !rules.isEmpty && answer(app).granted.contains(permission)
    }

    /// The first rule of that action that matches.
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
        if answers.count >= RuleBook.cachedApps { answers.removeAll(keepingCapacity: true) }
        answers[app] = answer
        return answer
    }

    // MARK: Reading

    /// Reads everything again; whether anything is different now.
    func reload() -> Bool {
        var rules: [Rule] = []
        var problems: [PolicyProblem] = []
        let files = folders.rules()
        for file in files { rules += read(file, &problems) }
        let paths = Set(files.map(\.path))
        for path in lastGood.keys where !paths.contains(path) {
            lastGood[path] = nil
            unsaved[path] = nil
            gone.append(path)
        }
        var settings = Settings()
        for file in folders.settings() {
            note(file, &problems) { (text) throws(FileProblem) in try SettingsFile.read(text, into: &settings) }
        }
        for problem in problems where !self.problems.contains(problem) {
            log.error("\(problem.file):\(problem.line): \(problem.message); the file is ignored")
        }
        let isChanged = rules != self.rules || problems != self.problems || settings != self.settings
        self.rules = rules
        self.problems = problems
        self.settings = settings
        answers = [:]
        keepLastGood()
        return isChanged
    }

    /// A good file's rules; of a bad one, what its last good version restricted.
    private func read(_ file: FoundFile, _ problems: inout [PolicyProblem]) -> [Rule] {
        var rules: [Rule] = []
        let isGood = note(file, &problems) { (text) throws(FileProblem) in
            rules = try Rule.read(text, file: file.path)
        }
        if isGood {
            if let text = file.text, lastGood[file.path] != text {
                lastGood[file.path] = text
                unsaved[file.path] = text
            }
            return rules
        }
        guard let text = lastGood[file.path], let old = try? Rule.read(text, file: file.path) else { return [] }
        return old.filter { $0.action == .restrict }
    }

    @discardableResult
    private func note(
        _ file: FoundFile, _ problems: inout [PolicyProblem], _ body: (String) throws(FileProblem) -> Void
    ) -> Bool {
        guard let text = file.text else {
            problems.append(PolicyProblem(file: file.path, line: 0, message: file.problem ?? "it cannot be read"))
            return false
        }
        do throws(FileProblem) {
            try body(text)
            return true
        } catch {
            problems.append(PolicyProblem(file: file.path, line: error.line, message: error.message))
            return false
        }
    }

    private func keepLastGood() {
        guard let saveLastGood, !unsaved.isEmpty || !gone.isEmpty else { return }
        saveLastGood(unsaved.map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }, gone.sorted())
        unsaved = [:]
        gone = []
    }

    // MARK: Watching

    /// Calls `onChange` after files changed and were read (inotify(7)).
    func start(onChange: @escaping @LoopActor () -> Void) {
        self.onChange = onChange
        inotify = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard inotify >= 0 else {
            return log.warning("Changed rules are noticed on SIGHUP only: \(String(cString: strerror(errno)))")
        }
        addWatches()
        Loop.shared.watch(inotify, .readable) { [weak self] _ in self?.filesChanged() }
    }

    private func addWatches() {
        let events = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_ATTRIB
        for folder in folders.watched() { inotify_add_watch(inotify, folder, UInt32(events) | UInt32(IN_ONLYDIR)) }
    }

    private func filesChanged() {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var isOurs = false
        while true {
            let count = Glibc.read(inotify, &buffer, buffer.count)
            guard count > 0 else { break }
            isOurs = RuleBook.names(buffer.prefix(count)).contains(where: RuleBook.isOurs) || isOurs
        }
        // The nearest folder of a missing one may be busy with others' files.
        guard isOurs else { return }
        addWatches()
        if reload() { onChange?() }
    }

    private static func isOurs(_ name: String) -> Bool {
        name.isEmpty || name.hasSuffix(".conf")
            || ["permd", "policy.d", "permd.conf.d", "etc", "run", "usr", "lib"].contains(name)
    }

    /// The names of `struct inotify_event`s: wd, mask, cookie and length, 16 bytes, then the padded name.
    private static func names(_ bytes: ArraySlice<UInt8>) -> [String] {
        var names: [String] = []
        var rest = bytes
        while rest.count >= 16 {
            let start = rest.startIndex
            let length = (0..<4).reduce(0) { $0 | Int(rest[start + 12 + $1]) << (8 * $1) }
            names.append(String(decoding: rest.dropFirst(16).prefix(length).prefix { $0 != 0 }, as: UTF8.self))
            rest = rest.dropFirst(16 + length)
        }
        return names
    }

    /// SIGHUP: reads again and tells.
    func reloadAndTell() { if reload() { onChange?() } }
}
