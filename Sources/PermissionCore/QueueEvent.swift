// The events that the queue handles, and the effects that it requests.

package import PermissionModel

/// A point in time on two clocks.
package struct Instant: Sendable, Hashable {
    /// The wall clock.
    package var epoch: EpochSeconds
    /// Milliseconds since boot. This clock is never set and never goes back.
    package var uptime: Int64

    package init(epoch: EpochSeconds, uptime: Int64) {
        self.epoch = epoch
        self.uptime = uptime
    }

    /// In seconds: longer than any machine runs.
    private static let longest: Int64 = 1 << 40

    /// When something ends at the latest that ends at `end` by the wall clock and began at `start`, in milliseconds since
    /// boot. A clock that is set back prolongs nothing.
    func deadline(of end: EpochSeconds, since start: EpochSeconds) -> Int64 {
        let seconds = [epoch, start].map { from in
            let (difference, isTooLong) = end.subtractingReportingOverflow(from)
            return isTooLong ? (end > from ? Instant.longest : 0) : min(max(0, difference), Instant.longest)
        }
        return uptime + min(seconds[0], seconds[1]) * 1000
    }
}

/// The current decisions, rules and devices.
package protocol Facts {
    /// - Parameter assumesDevice: Whether to answer as if there were a usable device.
    func status(of permission: Permission, for caller: Caller, assumesDevice: Bool) -> Status
    /// Whether its last usable device went only a moment ago, and may be back at once.
    func isMissed(_ permission: Permission) -> Bool
}

extension Facts {
    /// The status for a request. An enforcement point and a portal have a device at hand, so none is looked for; what
    /// waits in the queue is not answered because its device is away for a moment.
    func status(of permission: Permission, in request: Request) -> Status {
        status(
            of: permission, for: request.caller,
            assumesDevice: request.device != nil || request.dialog != nil
                || request.place != nil && isMissed(permission))
    }
}

/// Identifies one offer of a request to one agent.
package struct PromptID: Sendable, Hashable {
    package let number: UInt64
    package init(_ number: UInt64) { self.number = number }
}

package enum TimerID: Sendable, Hashable {
    /// Limits how long the whole queue waits for an agent.
    case agentWait
    /// Limits how long a prompt waits for an answer.
    case prompt(PromptID)
    /// Limits how long the prompt of a request without a caller stays open.
    case withdrawal(RequestID)
    /// Limits how long a place is kept for a connection's next request.
    case reservation(connection: String)
}

package enum QueueEvent {
    case requested(Request)
    case closed(RequestID)
    case callerLeft(String)
    /// A connection releases the place that is kept for it.
    case reservationReleased(String)
    case agentArrived(AgentID, AgentLevel, wantsUpdates: Bool = false)
    /// A connection has left the bus, with all its agents.
    case agentLeft(connection: String)
    case agentUnregistered(AgentID)
    case agentAnswered(AgentID, PromptID, PromptAnswer)
    /// An agent returned an error or an invalid answer, for this reason.
    case agentFailed(AgentID, PromptID, String)
    /// The bus could not start an agent, for this reason.
    case agentNotStarted(String)
    /// Decisions or rules have changed.
    case factsChanged
    /// Devices of these permissions have changed.
    case devicesChanged(Set<Permission>)
    /// Whether a person is in front of the screen: false while the session is locked or in the background.
    case seatActivity(Bool)
    /// What an agent decided is on disk, or in force as far as possible if it could not be written.
    case committed(RequestID)
    case timerFired(TimerID)
    case configurationChanged(Configuration)
    case dismissalsRestored([DismissalRecord])
    /// A decision or a reset, which may have changed facts, clears dismissal counts and stops throttling the app; nil
    /// matches all.
    case throttleLifted(app: AppID?, item: PromptItem?)
    /// The connection to the bus was lost, and with it every caller and agent.
    case disconnected
    case shutdown

    package var isDisconnection: Bool { if case .disconnected = self { true } else { false } }
}

package enum QueueEffect {
    /// Reply to the call with the request's object.
    case accept(Request)
    /// Reply to the call with an error; there is no request.
    case refuse(Request, PermissionError)
    case respond(Request, Reply)
    /// The request has ended without a Response for its caller.
    case forget(Request)
    case showPrompt(AgentID, Prompt)
    /// Tell what is behind a prompt, and which devices it is about.
    case updatePrompt(AgentID, PromptID, RequestsBehind)
    case withdrawPrompt(AgentID, PromptID, why: WithdrawalReason)
    /// Stop listening to a prompt whose agent has left.
    case dropPrompt(PromptID)
    /// The agent failed too often and is not asked any more.
    case unregisterAgent(AgentID)
    case startAgentService
    /// Write these, then send the event `committed`.
    case commit(Request, [Decision], [HistoryRow])
    case record([HistoryRow])
    case saveDismissals(DismissalRecord)
    /// A request has a new place in the queue; the old one is nil when it begins to wait.
    case moved(Request, from: QueuePlace?)
    case lengthChanged(Int)
    case startTimer(TimerID, milliseconds: Int64)
    case stopTimer(TimerID)
}

/// The outcome of a request.
package struct Reply: Sendable, Hashable {
    package enum Code: Sendable, Hashable {
        case answered, dismissed
        case failed(PermissionError)
    }

    package var code: Code
    /// The status of every requested permission.
    package var statuses: [Permission: Status]
    /// The first permission, in the order of the request, that is not granted.
    package var firstRefused: Permission?
    /// Seconds for which the place is kept; 0 for none.
    package var reservation: UInt32 = 0
    /// The person's answers to this request.
    package var answers: [PromptItem: ItemDecision] = [:]
    /// Seconds until the dismissal throttle no longer answers for the person, if something is undecided because of it.
    package var retryAfter: Int64?
    /// Whether it failed because permd is stopping.
    package var isStopping = false
}

/// What the person is to be asked.
package struct Prompt {
    package let id: PromptID
    package let request: Request
    /// In the order of the request.
    package let items: [PromptItem]
    package let behind: RequestsBehind
    /// Seconds for which the dismissal throttle pauses a question of this prompt if the person dismisses it; nil if
    /// that takes further dismissals.
    package let pause: Int64?
}

/// What waits behind a prompt.
package struct RequestsBehind: Sendable, Hashable {
    /// The number of requests.
    package let count: Int
    /// The apps of the first of them, each once, at most ``Limits/appsBehind``.
    package let apps: [AppID]
}
