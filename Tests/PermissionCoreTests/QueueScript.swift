// Runs scripts of events against the queue and compares every effect, in order.
//
//   > event …                 an event; the lines below it, up to the next event, are all its effects
//   > committed 1             as permd does it: the facts have the decisions of the commit, and change, before the event;
//                             with `over`, the decisions have ended by then
//   = app permission status   the status that the facts report from now on
//   = missed permission       its device went a moment ago; `= over permission`: longer ago
//   + seconds                 time passes
//   ~ seconds                 the wall clock is set forward, or back if negative
//   # …                       a comment
//
// Abbreviations for all effects of the event above:
//
//   shown A #1 camera   the request is the only one in the queue, and agent A shows it at once
//   asked A #1 1 camera the same for request 1, where promptTimeout=10
//   paused a 1600       everything that app a can ask is paused until then
//   queued 2            the request waits at the end of the queue, at that position
//   alone               the request is the only one in the queue, and there is no agent
//   gone 1              request 1, by `a` and the only one in the queue, is withdrawn

import PermissionCore
import PermissionModel
import Testing

/// Facts from a table of statuses; a permission without an entry is undetermined.
struct FakeFacts: Facts {
    var statuses: [String: Status] = [:]

    var missed: Set<String> = []

    func isMissed(_ permission: Permission) -> Bool { missed.contains(permission.rawValue) }

    func status(of permission: Permission, for caller: Caller, assumesDevice: Bool) -> Status {
        let status = statuses["\(caller.app.name) \(permission.rawValue)"] ?? .undetermined
        return assumesDevice && status == .unavailable ? .undetermined : status
    }
}

struct QueueScript {
    private var queue = Queue(configuration: Configuration())
    private var facts = FakeFacts()
    private var now = Instant(epoch: 1000, uptime: 5_000_000)
    /// The decisions of each commit that is being written.
    private var unwritten: [String: [Decision]] = [:]

    /// Runs a script and records an issue unless its effects are exactly those listed.
    static func play(_ script: String, sourceLocation: SourceLocation = #_sourceLocation) {
        var player = QueueScript()
        var played: [String] = []
        let lines = expanded(script.split(separator: "\n").map { $0.trimmingSpaces() })
        for line in lines where !line.isEmpty {
            switch line.first {
            case ">":
                played.append(line)
                played += player.send(line.dropFirst().trimmingSpaces())
            case "=":
                played.append(line)
                let words = line.split(separator: " ").map(String.init)
                switch words[1] {
                case "missed": player.facts.missed.insert(words[2])
                case "over": player.facts.missed.remove(words[2])
                default: player.facts.statuses["\(words[1]) \(words[2])"] = Status(rawValue: words[3])
                }
            case "+":
                played.append(line)
                let seconds = Int64(line.dropFirst().trimmingSpaces()) ?? 0
                player.now.epoch += seconds
                player.now.uptime += seconds * 1000
            case "~":
                played.append(line)
                player.now.epoch += Int64(line.dropFirst().trimmingSpaces()) ?? 0
            case "#": played.append(line)
            default: break
            }
        }
        let expected = lines.filter { !$0.isEmpty }
        guard played != expected else { return }
        let place = zip(played, expected).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        Issue.record(
            "line \((place ?? min(played.count, expected.count)) + 1) is not as expected; actual events and effects:\n\(played.joined(separator: "\n"))",
            sourceLocation: sourceLocation)
    }

    /// The lines with each abbreviation replaced by the effects it stands for.
    private static func expanded(_ lines: [String]) -> [String] {
        var request = ""
        return lines.flatMap { line -> [String] in
            let words = line.split(separator: " ").map(String.init)
            if line.hasPrefix("> request ") { request = words[2] }
            switch words.first {
            case "shown":
                let prompt = words[2]
                let pause = words.count > 4 ? " \(words[4])" : ""
                return [
                    "accept \(request)", "moved \(request) queued 0",
                    "show \(words[1]) \(prompt) \(request) \(words[3]) waiting=0\(pause)",
                    "timer prompt\(prompt) 300000",
                    "moved \(request) showing 0", "length 1",
                ]
            case "queued":
                return [
                    "accept \(request)", "moved \(request) queued \(words[1])", "length \((Int(words[1]) ?? 0) + 1)",
                ]
            case "alone":
                return [
                    "accept \(request)", "moved \(request) queued 0", "start-agent", "timer agentWait 10000",
                    "length 1",
                ]
            case "asked":
                return [
                    "accept \(words[3])", "moved \(words[3]) queued 0",
                    "show \(words[1]) \(words[2]) \(words[3]) \(words[4]) waiting=0", "timer prompt\(words[2]) 10000",
                    "moved \(words[3]) showing 0", "length 1",
                ]
            case "paused": return PromptItem.all.map { "nag \(words[1]) \($0.name) 0 until=\(words[2])" }
            case "gone":
                return ["forget \(words[1])", "record a:camera=withdrawn", "stop agentWait", "length 0"]
            default: return [line]
            }
        }
    }

    // MARK: Events

    private mutating func send(_ text: String) -> [String] {
        let words = text.split(separator: " ").map(String.init)
        guard let event = event(words) else { return ["unknown event"] }
        guard words[0] == "committed" else { return handle(event) }
        for decision in unwritten.removeValue(forKey: words[1]) ?? [] where words.last != "over" {
            facts.statuses["\(decision.app.name) \(decision.permission.rawValue)"] =
                decision.verdict == .grant ? .granted : .denied
        }
        return handle(.factsChanged) + handle(event)
    }

    private mutating func handle(_ event: QueueEvent) -> [String] {
        let effects = queue.handle(event, at: now, in: facts)
        for case .commit(let request, let decisions, _) in effects {
            unwritten["\(request.id.number)"] = decisions
        }
        return effects.map(describe)
    }

    private func event(_ words: [String]) -> QueueEvent? {
        func word(_ index: Int) -> String { index < words.count ? words[index] : "" }
        switch words[0] {
        case "request": return .requested(request(words))
        case "close": return .closed(RequestID(UInt64(word(1)) ?? 0))
        case "left": return .callerLeft(":\(word(1))")
        case "release": return .reservationReleased(":\(word(1))")
        case "agent":
            return AgentLevel(rawValue: word(2)).map {
                .agentArrived(agent(word(1)), $0, wantsUpdates: word(3) == "updates")
            }
        case "agent-left": return .agentLeft(connection: ":\(word(1))")
        case "unregister": return .agentUnregistered(agent(word(1)))
        case "answer": return answer(words)
        case "fail": return .agentFailed(agent(word(1)), prompt(word(2)), "broken")
        case "not-started": return .agentNotStarted("no display")
        case "facts": return .factsChanged
        case "devices": return .devicesChanged([Permission(rawValue: word(1))!])
        case "away": return .seatActivity(false)
        case "back": return .seatActivity(true)
        case "committed": return .committed(RequestID(UInt64(word(1)) ?? 0))
        case "timer": return timer(word(1), word(2)).map { .timerFired($0) }
        case "settings": return .configurationChanged(configuration(words.dropFirst()))
        case "restored":
            return .dismissalsRestored([
                DismissalRecord(
                    app: app(word(1)), item: PromptItem(name: word(2)) ?? .camera, count: Int(word(3)) ?? 0,
                    pausedUntil: EpochSeconds(word(4)), since: now.epoch)
            ])
        case "lift":
            return .throttleLifted(app: word(1) == "*" ? nil : app(word(1)), item: PromptItem(name: word(2)))
        case "disconnected": return .disconnected
        case "shutdown": return .shutdown
        default: return nil
        }
    }

    /// `request ID APP[@CONNECTION] PERMISSION,… [hold=SECONDS] [quiet]`
    private func request(_ words: [String]) -> Request {
        let names = words[2].split(separator: "@").map(String.init)
        let caller = Caller(
            connection: ":\(names.last ?? "")", app: app(names[0]), process: ProcessKey(pid: 1, startTime: 1))
        var hold: UInt32 = 0
        for word in words.dropFirst(4) where word.hasPrefix("hold=") { hold = UInt32(word.dropFirst(5)) ?? 0 }
        var request = Request(
            id: RequestID(UInt64(words[1]) ?? 0), path: "/r/\(words[1])", caller: caller,
            items: words[3].split(separator: ",").compactMap { PromptItem(name: String($0)) }, arrived: now.epoch,
            requester: NoRequester())
        request.reservation = hold
        request.isInteractive = !words.contains("quiet")
        return request
    }

    /// `answer AGENT #PROMPT dismissed` or `answer AGENT #PROMPT camera=grant/once,…`; the items may be omitted.
    private func answer(_ words: [String]) -> QueueEvent {
        let items = words.count > 3 ? words[3] : ""
        guard items != "dismissed" else { return .agentAnswered(agent(words[1]), prompt(words[2]), .dismissed) }
        var decisions: [PromptItem: ItemDecision] = [:]
        for item in items.split(separator: ",") {
            let parts = item.split(whereSeparator: { "=/".contains($0) }).map(String.init)
            guard parts.count == 3, let item = PromptItem(name: parts[0]),
                let verdict = Verdict(rawValue: parts[1])
            else { continue }
            let duration: Duration =
                switch parts[2] {
                case "once": .once
                case "session": .session
                case "always": .always
                default: .until(EpochSeconds(parts[2]) ?? 0)
                }
            decisions[item] = ItemDecision(verdict: verdict, duration: duration)
        }
        return .agentAnswered(agent(words[1]), prompt(words[2]), .answered(decisions))
    }

    private func timer(_ kind: String, _ which: String) -> TimerID? {
        switch kind {
        case "agentWait": .agentWait
        case "prompt": .prompt(prompt(which))
        case "withdrawal": UInt64(which).map { .withdrawal(RequestID($0)) }
        case "reservation": .reservation(connection: ":\(which)")
        default: nil
        }
    }

    private func configuration(_ words: ArraySlice<String>) -> Configuration {
        var configuration = Configuration()
        for word in words {
            let parts = word.split(separator: "=").map(String.init)
            guard parts.count == 2, let number = Int(parts[1]) else { continue }
            switch parts[0] {
            case "agentWait": configuration.agentWait = Int64(number)
            case "promptTimeout": configuration.promptTimeout = Int64(number)
            case "nagLimit": configuration.nagLimit = number
            case "nagPause": configuration.nagPause = Int64(number)
            case "waitingPerApp": configuration.waitingPerApp = number
            case "waiting": configuration.waiting = number
            default: break
            }
        }
        return configuration
    }

    /// `/path`, `flatpak.NAME`, or the name of a snap.
    private func app(_ name: String) -> AppID {
        let kind = name.hasPrefix("/") ? "exe" : name.hasPrefix("flatpak.") ? "flatpak" : "snap"
        return AppID("\(kind):\(name)")!
    }
    private func agent(_ name: String) -> AgentID { AgentID(connection: ":\(name)", path: "/\(name)") }
    private func prompt(_ text: String) -> PromptID { PromptID(UInt64(text.dropFirst()) ?? 0) }

    // MARK: Effects

    private func describe(_ effect: QueueEffect) -> String {
        switch effect {
        case .accept(let request): "accept \(request.id.number)"
        case .refuse(let request, let error): "refuse \(request.id.number) \(error.kind.rawValue)"
        case .respond(let request, let reply): "respond \(request.id.number) \(describe(reply))"
        case .forget(let request): "forget \(request.id.number)"
        case .showPrompt(let agent, let prompt):
            "show \(agent.path.dropFirst()) #\(prompt.id.number) \(prompt.request.id.number) \(list(prompt.items)) waiting=\(prompt.behind.count)\(prompt.pause.map { " pause=\($0)" } ?? "")"
        case .updatePrompt(let agent, let id, let behind):
            "update \(agent.path.dropFirst()) #\(id.number) \(describe(behind))"
        case .withdrawPrompt(let agent, let id, _): "withdraw \(agent.path.dropFirst()) #\(id.number)"
        case .dropPrompt(let id): "drop #\(id.number)"
        case .unregisterAgent(let agent): "unregister \(agent.path.dropFirst())"
        case .startAgentService: "start-agent"
        case .commit(let request, let decisions, let rows):
            "commit \(request.id.number) \(decisions.map(describe).joined(separator: ",")); \(rows.map(describe).joined(separator: ","))"
        case .record(let rows): "record \(rows.map(describe).joined(separator: ","))"
        case .saveDismissals(let record):
            "nag \(record.app.name) \(record.item.name) \(record.count)\(record.pausedUntil.map { " until=\($0)" } ?? "")"
        case .moved(let request, _): "moved \(request.id.number) \(describe(request.place))"
        case .lengthChanged(let length): "length \(length)"
        case .startTimer(let timer, let milliseconds): "timer \(describe(timer)) \(milliseconds)"
        case .stopTimer(let timer): "stop \(describe(timer))"
        }
    }

    private func describe(_ place: QueuePlace?) -> String {
        place.map { "\($0.state.rawValue) \($0.position)" } ?? "nowhere"
    }

    private func describe(_ behind: RequestsBehind) -> String {
        let apps = behind.apps.isEmpty ? "" : " next=\(behind.apps.map(\.name).joined(separator: ","))"
        return "waiting=\(behind.count)\(apps)"
    }

    private func describe(_ reply: Reply) -> String {
        let code =
            switch reply.code {
            case .answered: "answered"
            case .dismissed: "dismissed"
            case .failed(let error): error.kind.rawValue
            }
        let statuses = reply.statuses.sorted { $0.key < $1.key }.map { "\($0.key.rawValue)=\($0.value.rawValue)" }
        let refused = reply.firstRefused.map { " refused=\($0.rawValue)" } ?? ""
        let retry = reply.retryAfter.map { " retry=\($0)" } ?? ""
        return
            "\(code) \(statuses.joined(separator: ","))\(refused)\(retry)\(reply.reservation > 0 ? " hold=\(reply.reservation)" : "")"
    }

    private func describe(_ decision: Decision) -> String {
        let end = decision.duration.end.map { String($0) } ?? decision.duration.kind.rawValue
        return
            "\(decision.permission.rawValue)=\(decision.verdict.rawValue)/\(end)\(decision.process == nil ? "" : "!")"
    }

    private func describe(_ row: HistoryRow) -> String {
        "\(row.app?.name ?? ""):\(row.item.name)=\(row.outcome.rawValue)\(row.by == .nobody ? "" : "/\(row.by.rawValue)")"
    }

    private func describe(_ timer: TimerID) -> String {
        switch timer {
        case .agentWait: "agentWait"
        case .prompt(let id): "prompt#\(id.number)"
        case .withdrawal(let id): "withdrawal\(id.number)"
        case .reservation(let connection): "reservation\(connection)"
        }
    }

    private func list(_ items: [PromptItem]) -> String { items.map(\.name).joined(separator: ",") }
}

extension StringProtocol {
    fileprivate func trimmingSpaces() -> String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
