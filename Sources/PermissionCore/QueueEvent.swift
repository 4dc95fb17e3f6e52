// The events that the queue handles, and the effects that it requests.

public import PermissionModel

/// A point in time on two clocks.
public struct Moment: Sendable, Hashable {
    /// The wall clock.
    public var epoch: EpochSeconds
    /// Milliseconds since boot. This clock is never set and never goes back.
    public var uptime: Int64

    public init(epoch: EpochSeconds, uptime: Int64) {
        self.epoch = epoch
        self.uptime = uptime
    }
}

/// The current decisions, rules and devices.
public protocol Facts {
    func status(of permission: Permission, for caller: Caller) -> Status
    /// The status as if there were a usable device.
    func standing(of permission: Permission, for caller: Caller) -> Status
}

extension Facts {
    /// The status for a request. An enforcement point has the device at hand, so none is looked for.
    func status(of permission: Permission, in request: AccessRequest) -> Status {
        request.device == nil
            ? status(of: permission, for: request.caller) : standing(of: permission, for: request.caller)
    }
}

/// Identifies one offer of a request to one agent.
public struct PromptID: Sendable, Hashable {
    public let number: UInt64
    public init(_ number: UInt64) { self.number = number }
}

public enum TimerID: Sendable, Hashable {
    /// Limits how long the whole queue waits for an agent.
    case agentWait
    /// Limits how long a prompt waits for an answer.
    case prompt(PromptID)
    /// Limits how long a place is kept for a connection's next request.
    case hold(connection: String)
}

public enum QueueEvent: Sendable, Hashable {
    case requested(AccessRequest)
    case closed(RequestID)
    case callerLeft(String)
    /// A connection releases the place that is kept for it.
    case holdReleased(String)
    case agentArrived(AgentID, AgentLevel, wantsUpdates: Bool = false)
    /// A connection has left the bus, with all its agents.
    case agentLeft(connection: String)
    case agentUnregistered(AgentID)
    case agentAnswered(AgentID, PromptID, Answer)
    case agentFailed(AgentID, PromptID)
    /// Decisions, rules or devices have changed.
    case factsChanged
    /// Whether a person is in front of the screen: false while the session is locked or in the background.
    case seatActivity(Bool)
    /// What an agent decided is on disk, or in force as far as possible if it could not be written.
    case committed(RequestID)
    case timerFired(TimerID)
    case settingsChanged(Settings)
    case dismissalsRestored([DismissalRecord])
    /// A decision or a reset clears dismissal counts and stops throttling the app; nil matches all.
    case throttleLifted(app: AppID?, question: Question?)
    /// The connection to the bus was lost, and with it every caller and agent.
    case disconnected
    case shutdown
}

public enum QueueEffect: Sendable, Hashable {
    /// Reply to the call with the request's object.
    case accept(RequestID)
    /// Reply to the call with an error; there is no request.
    case refuse(RequestID, PermissionError)
    case respond(RequestID, Reply)
    /// The request has ended without a Response.
    case forget(RequestID)
    case showPrompt(AgentID, Prompt)
    case updatePrompt(AgentID, PromptID, RequestsBehind)
    case withdrawPrompt(AgentID, PromptID, why: String)
    /// Stop listening to a prompt whose agent has left.
    case dropPrompt(PromptID)
    /// The agent failed too often and is not asked any more.
    case unregisterAgent(AgentID)
    case startAgentService
    /// Write these, then send the event `committed`.
    case commit(RequestID, [Decision], [HistoryRow])
    case record([HistoryRow])
    case saveDismissals(DismissalRecord)
    case moved(RequestID, RequestState, position: Int)
    case lengthChanged(Int)
    case startTimer(TimerID, milliseconds: Int64)
    case stopTimer(TimerID)
}

/// The outcome of a request.
public struct Reply: Sendable, Hashable {
    public enum Code: Sendable, Hashable {
        case answered, dismissed
        case failed(PermissionError)
    }

    public var code: Code
    /// The status of every requested permission.
    public var statuses: [Permission: Status]
    /// The first permission, in the order of the request, that is not granted.
    public var firstRefused: Permission?
    /// Seconds for which the place is kept; 0 for none.
    public var hold: UInt32 = 0
    /// The person's answers to this request.
    public var answers: [Question: ItemDecision] = [:]
    /// For an enforcement point: the end of the pause in which the dismissal throttle answers for the person.
    public var pausedUntil: EpochSeconds?

    public init(code: Code, statuses: [Permission: Status], firstRefused: Permission?, hold: UInt32 = 0) {
        self.code = code
        self.statuses = statuses
        self.firstRefused = firstRefused
        self.hold = hold
    }
}

/// What the person is to be asked.
public struct Prompt: Sendable, Hashable {
    public let id: PromptID
    public let request: AccessRequest
    /// In the order of the request.
    public let items: [Question]
    public let behind: RequestsBehind
    /// Seconds for which the dismissal throttle pauses a question of this prompt if the person dismisses it; nil if
    /// that takes further dismissals.
    public let pause: Int64?
}

/// What waits behind a prompt.
public struct RequestsBehind: Sendable, Hashable {
    /// The number of requests.
    public let count: Int
    /// The apps of the first of them, each once, at most ``Limits/appsBehind``.
    public let apps: [AppID]
}

public enum RequestState: String, Sendable, Hashable {
    case queued, showing
}
