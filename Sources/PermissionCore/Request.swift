// A request: who asks for what, where the answer goes, and its place in the queue until it is answered.

package import PermissionModel

/// The number of a request, unique while the daemon runs.
package struct RequestID: Sendable, Hashable, Comparable {
    package let number: UInt64
    package init(_ number: UInt64) { self.number = number }
    package static func < (a: RequestID, b: RequestID) -> Bool { a.number < b.number }
}

/// Where a request comes from: it receives the answer.
package protocol Requester: AnyObject {
    /// The queue has taken the request.
    func accept()
    /// The queue has rejected the request. No other call follows.
    func refuse(_ error: PermissionError)
    func moved(from old: QueuePlace, to new: QueuePlace)
    /// Receives the answer. No other call follows.
    func respond(_ reply: Reply)
    /// The request has ended without an answer. No other call follows.
    func forget()
}

/// How far a request has come in the queue.
package struct QueuePlace: Sendable, Hashable {
    package enum State: String, Sendable, Hashable {
        case queued, showing
    }

    package var state = State.queued
    /// How many requests are ahead, the one on screen included.
    package var position = 0

    package init(state: State = .queued, position: Int = 0) {
        self.state = state
        self.position = position
    }
}

/// A call of org.permd.Access1.RequestAccess or org.permd.Enforcement1.RequestAccessFor, decoded and checked, or a
/// portal's dialog.
package struct Request {
    package let id: RequestID
    /// The object path; of a portal's dialog, its handle.
    package let path: String
    /// The app that asks. Of a request by an enforcement point, the connection is the point's.
    package let caller: Caller
    /// At least one, none twice, in the order of the call.
    package let items: [PromptItem]
    /// Why the app wants each permission, in its words; safe to show.
    package var reasons: [Permission: String] = [:]
    /// What to show before the question; safe to show.
    package var explanation: Explanation?
    /// The window of the app, `x11:XID` or `wayland:HANDLE`; empty if there is none.
    package var parentWindow = ""
    /// Seconds for which to keep the place in the queue after the answer: 0 to ``Limits/maximumReservation``.
    package var reservation: UInt32 = 0
    /// Whether a prompt may be shown.
    package var isInteractive = true
    /// When the call arrived.
    package let arrived: EpochSeconds
    /// The portal's dialog that the request represents; nil for a request of an app.
    package var dialog: PortalDialog?
    /// The name of the device that an enforcement point has at hand, safe to show, or empty; nil for requests of apps, for
    /// which permd looks for a device, and of portals, which do not name theirs.
    package var device: String?
    package let requester: any Requester
    let userFolder: String?

    /// Nil for a request that never waited.
    package internal(set) var place: QueuePlace?
    /// Questions removed without a decision: dismissed, left out by the person, or paused by the dismissal throttle.
    var excluded: Set<PromptItem> = []
    /// Questions whose outcome is already in the history.
    var recorded: Set<PromptItem> = []
    /// The person's answers to this request.
    var answers: [PromptItem: ItemDecision] = [:]
    /// Agents that this request was offered to.
    var tried: Set<AgentID> = []
    /// `shown` is the uptime in milliseconds.
    typealias OpenPrompt = (id: PromptID, agent: AgentID, items: [PromptItem], shown: Int64)
    /// The prompt that shows it, also while its answer is being written.
    var prompt: OpenPrompt?
    /// Whether an answer is being written.
    var isSettling = false
    /// Why its caller wants no answer any more, while its prompt is still open.
    var withdrawal: WithdrawalReason?
    /// Milliseconds left of the reservation whose place this request took.
    var remainingReservation: Int64?

    package init(
        id: RequestID, path: String, caller: Caller, items: [PromptItem], arrived: EpochSeconds,
        requester: any Requester
    ) {
        self.id = id
        self.path = path
        self.caller = caller
        self.items = items
        self.arrived = arrived
        self.requester = requester
        userFolder = caller.app.userFolder
    }

    var app: AppID { caller.app }

    /// Whether the other one is of the same app, or of a program in the same folder of a user.
    func isRelated(to other: Request) -> Bool {
        app == other.app || userFolder != nil && userFolder == other.userFolder
    }

    /// Whether the same process, or instance of a sandbox, asks the same as with the other one, so that the person need not see another prompt.
    func continues(_ other: Request) -> Bool {
        app == other.app && items == other.items && reasons == other.reasons && explanation == other.explanation
            && dialog == other.dialog && device == other.device
            && caller.isSandboxed == other.caller.isSandboxed && caller.process == other.caller.process
    }

    func decision(_ permission: Permission, _ answer: ItemDecision, _ now: Instant) -> Decision {
        Decision(
            app: app, permission: permission, verdict: answer.verdict, duration: answer.duration, decided: now.epoch,
            by: .person, process: answer.duration == .once ? caller.process : nil)
    }

    /// The questions that are still to be asked, in the order of the request.
    func open(in facts: some Facts) -> [PromptItem] {
        items.filter { item in
            guard !excluded.contains(item) else { return false }
            guard let permission = item.permission else { return true }
            return facts.status(of: permission, in: self) == .undetermined
        }
    }

    func row(_ item: PromptItem, _ outcome: Outcome, _ by: Author, _ now: Instant) -> HistoryRow {
        HistoryRow(time: now.epoch, request: path, app: app, item: item, outcome: outcome, by: by)
    }
}

/// Indirect, so that iterating over a thousand slots does not copy each request.
indirect enum Slot {
    case request(Request)
    case reservation(Reservation)
    /// A request that has ended for its caller while the person's answer is still being written.
    case settling(RequestID)

    var request: Request? {
        if case .request(let request) = self { request } else { nil }
    }

    /// Whether a caller waits for its answer.
    var isWaiting: Bool { if case .request(let request) = self { request.withdrawal == nil } else { false } }

    var reservation: Reservation? {
        if case .reservation(let reservation) = self { reservation } else { nil }
    }
}
