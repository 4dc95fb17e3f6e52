// org.permd.Policy1, for permctl and settings programs.

import DBus
import PermissionCore
import PermissionModel
import PolicyFiles
import System

/// A problem and what to do about it, as `permctl doctor` shows them.
struct Problem {
    /// The kind of problem, in a word that does not change. It begins with what the problem is about.
    let code: String
    var file = ""
    var line = 0
    let text: String
    let advice: String
}

/// The operations of settings programs, and the state that they list.
@LoopActor
protocol SettingsCalls: AnyObject {
    var version: String { get }
    var now: @Sendable () -> EpochSeconds { get }
    /// The requests in the queue, in order.
    var waiting: [Request] { get }
    /// Makes a decision and calls `completion` after it is on disk.
    func decide(_ decision: Decision, _ completion: @escaping @LoopActor (Result<Void, PermissionError>) -> Void)
    /// Deletes decisions and lifts pauses; nil means any. `completion` receives the number of deleted decisions, or an
    /// error if the store cannot be written: the reset still takes effect, and is written later.
    func reset(
        app: AppID?, item: PromptItem?, by: Author,
        _ completion: @escaping @LoopActor (Result<Int, PermissionError>) -> Void)
    /// Switches a permission off or on for every app and calls `completion` after it is on disk.
    func setSwitch(
        _ permission: Permission, on: Bool, by: Author,
        _ completion: @escaping @LoopActor (Result<Void, PermissionError>) -> Void)
    func pauses(app: AppID?, item: PromptItem?) -> [Pause]
    func problems() -> [Problem]
}

@LoopActor
struct SettingsInterface {
    unowned let calls: any SettingsCalls
    let store: DecisionStore
    let policy: RuleSet
    let devices: DeviceCatalog
    let subscribers: Subscribers
    let lists: ListQueue
    /// Reads the apps' desktop entries.
    let worker: Worker

    var interface: Interface {
        Interface(
            name: BusNames.policy,
            methods: [
                list("ListDecisions", "decisions") { call, filter throws(PermissionError) in
                    call.reply(.rows(try decisionRows(filter)))
                },
                list("ListStatuses", "statuses", replyStatuses),
                Method(
                    "SetDecision", ["app": "s", "permission": "s", "decision": "s", "options": "a{sv}"],
                    callers: .unsandboxed, options: ["by", "duration", "until"], setDecision),
                Method(
                    "Reset", ["app": "s", "permission": "s"], returns: ["removed": "u"], callers: .unsandboxed, reset),
                Method("SetSwitch", ["permission": "s", "on": "b"], callers: .unsandboxed, setSwitch),
                list("ListHistory", "rows") { call, filter in
                    lists.add(call) { historyRows(filter, $0) }
                },
                Method("ListRequests", returns: ["requests": "aa{sv}"], callers: .unsandboxed) {
                    $0.reply(.rows(requestRows()))
                },
                Method("ListRestrictions", returns: ["rules": "aa{sv}"], callers: .unsandboxed) {
                    $0.reply(.rows(restrictionRows()))
                },
                Method("ListProblems", returns: ["problems": "aa{sv}"], callers: .unsandboxed) { call in
                    lists.add(call) { done in store.queue.checkIntegrity { done(.success(problemRows())) } }
                },
            ] + subscribers.methods,
            signals: [
                Signal("DecisionChanged", ["app": "s", "permission": "s", "decision": "s"]),
                Signal("SwitchChanged", ["permission": "s", "on": "b"]),
                Signal("QueueChanged", ["length": "u"]),
                Signal("RequestChanged", ["request": "o", "app": "s", "permissions": "as", "state": "s"]),
            ],
            properties: [
                Property("ProgramVersion", "s", .never) { _ in .string(calls.version) },
                Property("Switches", "a{sb}", .silent) { _ in switchTable },
            ], readers: .unsandboxed)
    }

    func notifyDecision(_ app: AppID, _ permission: Permission, _ verdict: Verdict?) {
        subscribers.send(
            "DecisionChanged",
            [.string(app.description), .string(permission.rawValue), .string(verdict?.rawValue ?? "")])
    }

    func notifySwitch(_ permission: Permission) {
        subscribers.send(
            "SwitchChanged", [.string(permission.rawValue), .bool(!store.switches.isOff(permission))])
    }

    func notifyRequest(_ request: Request, _ state: String) {
        subscribers.send(
            "RequestChanged",
            [
                .objectPath(request.path), .string(request.caller.app.description),
                .strings(request.items.map(\.name)), .string(state),
            ])
    }

    func notifyLength(_ length: Int) { subscribers.send("QueueChanged", [.uint32(UInt32(length))]) }

    // MARK: Decisions

    private func setDecision(_ call: MethodCall) throws(PermissionError) {
        let app = try parseApp(call.string(0))
        let permission = try parsePermission(call.string(1))
        let word = call.string(2)
        guard let verdict = Verdict(rawValue: word) else {
            throw PermissionError(.invalidArguments, "a decision is grant or deny, not \(quoted(word))")
        }
        let options = try Options(call.arguments[3])
        let duration = try parseDuration(options)
        let by = try options.string("by") ?? Author.permctl.rawValue
        guard let author = Author(rawValue: by), [.person, .permctl].contains(author) else {
            throw PermissionError(.invalidArguments, "the option by is person or permctl, not \(quoted(by))")
        }
        let decision = Decision(
            app: app, permission: permission, verdict: verdict, duration: duration, decided: calls.now(), by: author)
        calls.decide(decision) { result in
            call.answer(result.map { [] })
        }
    }

    private func parseDuration(_ options: Options) throws(PermissionError) -> Duration {
        let word = try options.string("duration") ?? Duration.Kind.always.rawValue
        let until = try options.time("until")
        switch Duration.Kind(rawValue: word) {
        case .always: return .always
        case .session: return .session
        case .until:
            guard let until else {
                throw PermissionError(.invalidArguments, "the duration until requires the option until")
            }
            guard until > calls.now() else {
                throw PermissionError(.invalidArguments, "the time in the option until has passed")
            }
            return .until(until)
        case .once:
            throw PermissionError(.invalidArguments, "the duration once requires a requesting process")
        case nil:
            throw PermissionError(.invalidArguments, "a duration is always, session or until, not \(quoted(word))")
        }
    }

    private func reset(_ call: MethodCall) throws(PermissionError) {
        let (appText, permissionText) = (call.string(0), call.string(1))
        let app = appText.isEmpty ? nil : try parseApp(appText)
        let item = permissionText.isEmpty ? nil : try parseItem(permissionText)
        calls.reset(app: app, item: item, by: .permctl) { result in
            call.answer(result.map { [.uint32(UInt32(clamping: $0))] })
        }
    }

    // MARK: Switches

    private var switchTable: Value {
        let entries = Permission.allCases.map {
            DictionaryEntry(.string($0.rawValue), .bool(!store.switches.isOff($0)))
        }
        return .dictionary(key: "s", value: "b", entries)
    }

    private func setSwitch(_ call: MethodCall) throws(PermissionError) {
        let permission = try parsePermission(call.string(0))
        calls.setSwitch(permission, on: call.arguments[1].boolValue ?? true, by: .person) { result in
            call.answer(result.map { [] })
        }
    }

    func row(_ decision: Decision) -> [String: Value] {
        var row: [String: Value] = [
            "app": .string(decision.app.description), "permission": .string(decision.permission.rawValue),
            "decision": .string(decision.verdict.rawValue), "duration": .string(decision.duration.kind.rawValue),
            "decided": .uint64(UInt64(clamping: decision.decided)), "by": .string(decision.by.rawValue),
        ]
        if let end = decision.duration.end { row["until"] = .uint64(UInt64(clamping: end)) }
        return row
    }

    func row(_ pause: Pause) -> [String: Value] {
        [
            "app": .string(pause.app.description), "permission": .string(pause.item.name),
            "decision": .string("pause"), "duration": .string(Duration.Kind.until.rawValue),
            "until": .uint64(UInt64(clamping: pause.until)), "decided": .uint64(UInt64(clamping: pause.since)),
            "by": .string(Author.throttle.rawValue),
        ]
    }

    // MARK: Lists

    private func requestRows() -> [[String: Value]] {
        calls.waiting.map { request in
            let place = request.place ?? QueuePlace()
            return [
                "request": .string(request.path), "app": .string(request.caller.app.description),
                "permissions": .strings(request.items.map(\.name)), "state": .string(place.state.rawValue),
                "position": .uint32(UInt32(place.position)), "since": .uint64(UInt64(clamping: request.arrived)),
            ]
        }
    }

    private func restrictionRows() -> [[String: Value]] {
        policy.rules.flatMap { rule in
            rule.apps.map { pattern in
                [
                    "app": .string(pattern.text.text), "permissions": .strings(rule.permissions.map(\.rawValue)),
                    "action": .string(rule.action.rawValue), "rule": .string(rule.name), "file": .string(rule.file),
                    "line": .uint32(UInt32(clamping: rule.line)),
                ]
            }
        }
    }

    private func problemRows() -> [[String: Value]] {
        calls.problems().map { problem in
            [
                "about": .string(String(problem.code.prefix { $0 != "-" })), "code": .string(problem.code),
                "file": .string(problem.file),
                "line": .uint32(UInt32(clamping: problem.line)), "problem": .string(problem.text),
                "advice": .string(problem.advice),
            ]
        }
    }
}
