// Long sequences of random events: the invariants of the queue hold after each event.

import Foundation
import PermissionCore
import PermissionModel
import Testing

/// SplitMix64: a seed gives the same sequence on every machine.
private struct Dice: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

@Suite
struct QueueInvariantTests {
    /// scripts/faults runs longer sequences from its own seed.
    private static let events = number("PERMD_QUEUE_EVENTS") ?? 400
    private static let firstSeed = number("PERMD_QUEUE_SEED") ?? 0

    private static func number(_ variable: String) -> Int? {
        ProcessInfo.processInfo.environment[variable].flatMap { Int($0) }
    }

    @Test(arguments: 0..<60)
    func invariantsHold(_ number: Int) {
        let seed = UInt64(truncatingIfNeeded: QueueInvariantTests.firstSeed &+ number)
        var play = Play(seed: seed)
        for _ in 0..<QueueInvariantTests.events where play.broken == nil { play.step() }
        play.finish()
        #expect(play.broken == nil, "seed \(seed)")
    }
}

private struct Play {
    private var dice: Dice
    private var queue: Queue
    private var facts = FakeFacts()
    private var now = Instant(epoch: 1000, uptime: 1_000_000)
    private var lastID: UInt64 = 0
    /// Accepted requests that have not ended.
    private var open: Set<RequestID> = []
    private var over: Set<RequestID> = []
    private var shown: (agent: AgentID, prompt: Prompt)?
    /// The previous prompt; its answer may still be being written.
    private var lastShown: Prompt?
    private var writing: [(id: RequestID, decisions: [Decision])] = []
    private var timers: Set<TimerID> = []
    private var isSeatActive = true
    private(set) var broken: String?

    private static let apps = ["a", "b", "c"].map { AppID("snap:\($0)")! }
    private static let agents = ["A", "B", "C", "D"].map { AgentID(connection: ":\($0)", path: "/\($0)") }

    init(seed: UInt64) {
        dice = Dice(state: seed)
        var configuration = Configuration()
        configuration.waitingPerApp = 6
        configuration.waiting = 12
        queue = Queue(configuration: configuration)
    }

    mutating func step() {
        now.uptime += Int64.random(in: 0...3000, using: &dice)
        now.epoch += Int64.random(in: 0...3, using: &dice)
        send(event())
    }

    mutating func finish() {
        send(.shutdown)
        require(open.isEmpty, "\(open.count) requests were never answered")
        require(timers.isEmpty, "timers were left: \(timers)")
    }

    private mutating func event() -> QueueEvent {
        let app = Play.apps.randomElement(using: &dice)!
        let permission = Permission.allCases.randomElement(using: &dice)!
        let connection = ":\(app.name)\(Int.random(in: 0...1, using: &dice))"
        switch Int.random(in: 0..<21, using: &dice) {
        case 0..<6: return .requested(request(app, connection))
        case 6: return .closed(open.sorted().randomElement(using: &dice) ?? RequestID(0))
        case 7: return .callerLeft(connection)
        case 8:
            return .agentArrived(
                Play.agents.randomElement(using: &dice)!, AgentLevel.allCases.randomElement(using: &dice)!)
        case 9:
            let agent = Play.agents.randomElement(using: &dice)!
            return Bool.random(using: &dice) ? .agentLeft(connection: agent.connection) : .agentUnregistered(agent)
        case 10:
            facts.statuses["\(app.name) \(permission.rawValue)"] = Status.allCases.randomElement(using: &dice)!
            return .factsChanged
        case 11: return timers.randomElement(using: &dice).map { .timerFired($0) } ?? .factsChanged
        case 12: return .throttleLifted(app: app, item: nil)
        case 13: return .reservationReleased(connection)
        case 14:
            isSeatActive = Bool.random(using: &dice)
            return .seatActivity(isSeatActive)
        case 15, 16:
            guard !writing.isEmpty else { return .factsChanged }
            let written = writing.removeFirst()
            for decision in written.decisions {
                facts.statuses["\(decision.app.name) \(decision.permission.rawValue)"] =
                    decision.verdict == .grant ? .granted : .denied
            }
            return .committed(written.id)
        default: return answer()
        }
    }

    private mutating func request(_ app: AppID, _ connection: String) -> Request {
        lastID += 1
        let permissions = Permission.allCases.shuffled(using: &dice).prefix(Int.random(in: 1...3, using: &dice))
        var request = Request(
            id: RequestID(lastID), path: "/r/\(lastID)",
            caller: Caller(connection: connection, app: app, process: ProcessKey(pid: 1, startTime: 1)),
            items: permissions.map(PromptItem.permission), arrived: now.epoch, requester: NoRequester())
        request.reservation = Bool.random(using: &dice) ? 15 : 0
        request.isInteractive = Int.random(in: 0..<10, using: &dice) > 0
        return request
    }

    /// Usually the right agent answers the open prompt; sometimes a random agent answers a random one.
    private mutating func answer() -> QueueEvent {
        var agent = shown?.agent ?? Play.agents[0]
        if Int.random(in: 0..<5, using: &dice) == 0 { agent = Play.agents.randomElement(using: &dice)! }
        let prompt = shown?.prompt.id ?? PromptID(UInt64.random(in: 0...9, using: &dice))
        switch Int.random(in: 0..<4, using: &dice) {
        case 0: return .agentFailed(agent, prompt, "broken")
        case 1: return .agentAnswered(agent, prompt, .dismissed)
        default:
            let items = shown?.prompt.items ?? []
            let decision = ItemDecision(verdict: Bool.random(using: &dice) ? .grant : .deny, duration: .always)
            let decisions = Dictionary(uniqueKeysWithValues: items.map { ($0, decision) })
            return .agentAnswered(agent, prompt, .answered(decisions))
        }
    }

    // MARK: Invariants

    private mutating func send(_ event: QueueEvent) {
        if case .timerFired(let timer) = event { timers.remove(timer) }
        let effects = queue.handle(event, at: now, in: facts)
        for effect in effects { check(effect) }
        let requests = queue.requests
        let positions = requests.map { $0.place?.position }
        // The prompt on screen, or the answer that is being written, may be that of a request that has ended.
        let hasEnded = writing.contains { over.contains($0.id) } || timers.contains { $0.isWithdrawal }
        let first = hasEnded ? min(positions.first.flatMap { $0 } ?? 0, 1) : 0
        require(positions == (0..<requests.count).map { $0 + first }, "positions \(positions)")
        require(Set(requests.map(\.id)) == open, "the queue does not contain exactly the accepted requests")
        require(requests.count <= 12, "length \(requests.count)")
        require(requests.dropFirst().allSatisfy { $0.place?.state == .queued }, "a request behind the first is showing")
    }

    private mutating func check(_ effect: QueueEffect) {
        switch effect {
        case .accept(let request):
            require(open.insert(request.id).inserted && !over.contains(request.id), "\(request.id) accepted twice")
        case .refuse(let request, _):
            require(!open.contains(request.id), "\(request.id) refused after it was accepted")
        case .respond(let request, _), .forget(let request):
            let id = request.id
            require(open.remove(id) != nil && over.insert(id).inserted, "\(id) ended twice, or was never accepted")
            if case .respond = effect, shown?.prompt.request.id == id, !writing.contains(where: { $0.id == id }) {
                close()
            }
        case .showPrompt(let agent, let prompt):
            require(shown == nil, "two prompts on screen")
            require(isSeatActive, "a prompt for nobody")
            require(open.contains(prompt.request.id) && !prompt.items.isEmpty, "a prompt of nothing")
            let answered = writing.flatMap(\.decisions).filter { $0.app == prompt.request.caller.app }.map {
                PromptItem.permission($0.permission)
            }
            require(answered.allSatisfy { !prompt.items.contains($0) }, "asked while its answer is being written")
            shown = (agent, prompt)
        case .withdrawPrompt(let agent, let id, _):
            require(shown?.agent == agent && shown?.prompt.id == id, "a prompt that is not shown is withdrawn")
            shown = nil
        case .dropPrompt(let id):
            require(shown?.prompt.id == id, "a prompt that is not shown is dropped")
            shown = nil
        case .commit(let request, let decisions, _):
            // A request of the same app may have taken the place of one whose prompt stays for a moment.
            let asked = lastShown.flatMap { $0.request.caller.app == request.caller.app ? $0.items : nil } ?? []
            require(
                !decisions.isEmpty && decisions.allSatisfy { asked.contains(.permission($0.permission)) },
                "decisions that belong to no prompt")
            writing.append((request.id, decisions))
        case .startTimer(let timer, let milliseconds):
            require(milliseconds > 0, "a timer without a duration")
            timers.insert(timer)
        case .stopTimer(let timer):
            timers.remove(timer)
            // After an answer, a failure or the end of the request the prompt is no longer on screen.
            if case .prompt(let id) = timer, shown?.prompt.id == id { close() }
        default: break
        }
    }

    private mutating func close() {
        lastShown = shown?.prompt
        shown = nil
    }

    private mutating func require(_ holds: Bool, _ promise: String) {
        if !holds, broken == nil { broken = promise }
    }
}

extension TimerID {
    fileprivate var isWithdrawal: Bool { if case .withdrawal = self { true } else { false } }
}
