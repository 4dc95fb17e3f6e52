// What stands in the queue: requests that wait, and places that are held.

public import PermissionModel

/// A row of the queue for those who look at it.
public struct QueueEntry: Sendable, Hashable {
    public let request: AccessRequest
    public let state: RequestState
    public let position: Int
}

/// A request that is not answered yet.
struct WaitingRequest {
    let request: AccessRequest
    /// Taken out undecided: dismissed, left out by the person, or paused by the dismissal throttle.
    var leftOut: Set<Question> = []
    /// Questions whose outcome is in the history already.
    var recorded: Set<Question> = []
    /// What the person said to it.
    var answers: [Question: ItemDecision] = [:]
    /// Agents that were offered it.
    var tried: Set<AgentID> = []
    var prompt: (id: PromptID, agent: AgentID, items: [Question])?
    /// An answer is being written.
    var isSettling = false
    /// Milliseconds left of the hold whose place it took.
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

    /// What is still to be asked, in the asked order.
    func open(in facts: some Facts) -> [Question] {
        request.questions.filter { question in
            guard !leftOut.contains(question) else { return false }
            guard let permission = question.permission else { return true }
            return facts.status(of: permission, for: request.caller) == .undetermined
        }
    }
}

/// In a box: walking along a thousand of them must not copy each.
indirect enum Slot {
    case request(WaitingRequest)
    case hold(Hold)
    /// A request that is over for its owner, while what a person answered is on its way to the disk.
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
