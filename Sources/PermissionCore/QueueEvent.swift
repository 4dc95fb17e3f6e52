// What happens to the queue, as past facts, and what it wants done, as orders.

public import PermissionModel

/// A moment on both clocks.
public struct Moment: Sendable, Hashable {
    /// The wall clock.
    public var epoch: EpochSeconds
    /// Milliseconds since boot; never set, never back.
    public var uptime: Int64

    public init(epoch: EpochSeconds, uptime: Int64) {
        self.epoch = epoch
        self.uptime = uptime
    }
}

/// Decisions, rules and devices at this moment.
public protocol Facts {
    func status(of permission: Permission, for caller: Caller) -> Status
}

/// One offering of a request to one agent.
public struct PromptID: Sendable, Hashable {
    public let number: UInt64
    public init(_ number: UInt64) { self.number = number }
}

public enum TimerID: Sendable, Hashable {
    /// The whole queue waits for an agent.
    case agentWait
    /// A person looks at a prompt, or nobody does.
    case prompt(PromptID)
    /// The place kept for a connection's next request.
    case hold(connection: String)
}

public enum QueueEvent: Sendable, Hashable {
    case requested(AccessRequest)
    case closed(RequestID)
    case callerLeft(String)
    /// A connection gives back the place that is kept for it.
    case holdReleased(String)
    case agentArrived(AgentID, AgentLevel)
    /// Every agent of a connection that left the bus.
    case agentLeft(connection: String)
    case agentUnregistered(AgentID)
    case agentAnswered(AgentID, PromptID, Answer)
    case agentFailed(AgentID, PromptID, why: String)
    /// Decisions, rules or devices are not what they were.
    case factsChanged
    /// Whether a person is in front of the screen: not when it is locked or somebody else's.
    case seatActivity(Bool)
    /// What an agent decided is on disk, or holds as well as it can.
    case committed(RequestID)
    case timerFired(TimerID)
    case settingsChanged(Settings)
    case dismissalsRestored([DismissalRecord])
    /// A decision or a reset ends the counts of dismissals, and that the app is throttled; nil means any.
    case throttleLifted(app: AppID?, question: Question?)
    /// The connection to the bus is gone, and with it everybody on it.
    case disconnected
    case shutdown
}

public enum QueueEffect: Sendable, Hashable {
    /// Answer the call with the request's object.
    case accept(RequestID)
    /// Answer the call with an error; there is no request.
    case refuse(RequestID, PermissionError)
    case respond(RequestID, Reply)
    /// The request is gone without a Response.
    case forget(RequestID)
    case showPrompt(AgentID, Prompt)
    case withdrawPrompt(AgentID, PromptID, why: String)
    /// Stop listening to a prompt whose agent is gone.
    case dropPrompt(PromptID)
    /// The agent failed too often and is not asked any more.
    case unregisterAgent(AgentID)
    case startAgentService
    /// Write, then say `committed`.
    case commit(RequestID, [Decision], [HistoryRow])
    case record([HistoryRow])
    case saveDismissals(DismissalRecord)
    case moved(RequestID, RequestState, position: Int)
    case lengthChanged(Int)
    case startTimer(TimerID, milliseconds: Int64)
    case stopTimer(TimerID)
}

/// What a request comes to.
public struct Reply: Sendable, Hashable {
    public enum Code: Sendable, Hashable {
        case answered, dismissed
        case failed(PermissionError)
    }

    public var code: Code
    /// For every permission asked.
    public var statuses: [Permission: Status]
    /// The first in the asked order that is not granted.
    public var firstRefused: Permission?
    /// Seconds the place is kept; 0 for none.
    public var hold: UInt32 = 0
    /// What the person said to this very request.
    public var answers: [Question: ItemDecision] = [:]

    public init(code: Code, statuses: [Permission: Status], firstRefused: Permission?, hold: UInt32 = 0) {
        self.code = code
        self.statuses = statuses
        self.firstRefused = firstRefused
        self.hold = hold
    }
}

/// What a person is to be asked.
public struct Prompt: Sendable, Hashable {
    public let id: PromptID
    public let request: AccessRequest
    /// In the asked order.
    public let items: [Question]
    /// Requests behind this one.
    public let waiting: Int
}

public enum RequestState: String, Sendable, Hashable {
    case queued, showing
}
