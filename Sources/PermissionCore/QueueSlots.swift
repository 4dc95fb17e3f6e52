// The slots of the queue: waiting requests and held places.

public import PermissionModel

/// A row of the queue for a listing.
public struct QueueEntry: Sendable, Hashable {
    public let request: AccessRequest
    public let state: RequestState
    public let position: Int
}

/// A request that is not answered yet.
struct WaitingRequest {
    typealias Prompt = (id: PromptID, agent: AgentID, items: [Question])

    let request: AccessRequest
    /// Questions removed without a decision: dismissed, left out by the person, or paused by the dismissal throttle.
    var leftOut: Set<Question> = []
    /// Questions whose outcome is already in the history.
    var recorded: Set<Question> = []
    /// The person's answers to this request.
    var answers: [Question: ItemDecision] = [:]
    /// Agents that this request was offered to.
    var tried: Set<AgentID> = []
    var prompt: Prompt?
    /// Whether an answer is being written.
    var isSettling = false
    /// Milliseconds left of the hold whose place this request took.
    var heldBefore: Int64?
    var state = RequestState.queued
    var position = 0

    init(_ request: AccessRequest) { self.request = request }

    var app: AppID { request.caller.app }

    func decision(_ permission: Permission, _ answer: ItemDecision, _ now: Moment) -> Decision {
        Decision(
            app: app, permission: permission, verdict: answer.verdict, duration: answer.duration, decided: now.epoch,
            by: .person, process: answer.duration == .once ? request.caller.process : nil)
    }

    /// The questions that are still to be asked, in the order of the request.
    func open(in facts: some Facts) -> [Question] {
        request.questions.filter { question in
            guard !leftOut.contains(question) else { return false }
            guard let permission = question.permission else { return true }
            return facts.status(of: permission, in: request) == .undetermined
        }
    }
}

/// Indirect, so that iterating over a thousand slots does not copy each request.
indirect enum Slot {
    case request(WaitingRequest)
    case hold(Hold)
    /// A request that has ended for its caller while the person's answer is still being written.
    case settling(RequestID)

    var id: RequestID? {
        if case .request(let waiting) = self { waiting.request.id } else { nil }
    }

    var request: WaitingRequest? {
        if case .request(let waiting) = self { waiting } else { nil }
    }

    var hold: Hold? {
        if case .hold(let hold) = self { hold } else { nil }
    }
}
