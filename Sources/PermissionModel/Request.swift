// A request with its caller, and the answer to a prompt.

/// The number of a request, unique while the daemon runs.
public struct RequestID: Sendable, Hashable, Comparable {
    /// The number.
    public let number: UInt64
    /// Creates the ID of a request.
    public init(_ number: UInt64) { self.number = number }
    /// Compares numbers.
    public static func < (a: RequestID, b: RequestID) -> Bool { a.number < b.number }
}

/// An identified bus connection.
public struct Caller: Sendable, Hashable {
    /// The unique name, such as `:1.42`.
    public let connection: String
    /// The app.
    public let app: AppID
    /// The process that made the connection.
    public let process: ProcessKey
    /// Whether the process is a bus proxy, which forwards the calls of unidentified programs.
    public let isProxy: Bool
    /// Whether the app is sandboxed. A proxy outside any sandbox counts as sandboxed: sandboxed programs use it.
    public var isSandboxed: Bool { app.isSandboxed || isProxy }

    /// Creates a caller.
    public init(connection: String, app: AppID, process: ProcessKey, isProxy: Bool = false) {
        self.connection = connection
        self.app = app
        self.process = process
        self.isProxy = isProxy
    }
}

/// What an app says to the user before the question, to be shown on a page of its own with Continue and Not now.
///
/// It is the option `explanation` of org.permd.Access1.RequestAccess. permd makes the text safe to show.
public struct Explanation: Sendable, Hashable {
    /// The title. At most 80 Unicode scalars are shown.
    public var title: String
    /// The text. At most 512 Unicode scalars are shown.
    public var body: String
    /// Creates an explanation.
    public init(title: String, body: String) {
        self.title = title
        self.body = body
    }
}

/// A call of org.permd.Access1.RequestAccess or org.permd.Enforcement1.RequestAccessFor, decoded and checked, or a
/// portal's dialog, with the identified app.
public struct AccessRequest: Sendable, Hashable {
    /// The number of the request.
    public let id: RequestID
    /// The object path.
    public let path: String
    /// The app that made the request. Of a request by an enforcement point, the connection is the point's.
    public let caller: Caller
    /// At least one question, none twice, in the order of the call.
    public let questions: [Question]
    /// Why the app wants each permission, in its words; safe to show.
    public var reasons: [Permission: String]
    /// What to show before the question; safe to show.
    public var explanation: Explanation?
    /// The window of the app, `x11:XID` or `wayland:HANDLE`; empty if there is none.
    public var parentWindow: String
    /// Seconds for which to keep the place in the queue after the answer: 0 to ``Limits/maximumHold``.
    public var hold: UInt32
    /// Whether a prompt may be shown.
    public var isInteractive: Bool
    /// When the call arrived.
    public let arrived: EpochSeconds
    /// The portal's dialog that the request represents; nil for a request of an app.
    public var dialog: PortalDialog?
    /// The name of the device that an enforcement point has at hand, safe to show, or empty; nil for requests of apps
    /// and portals, for which permd looks for a device.
    public var device: String?

    /// Creates a request.
    public init(
        id: RequestID, path: String, caller: Caller, questions: [Question], reasons: [Permission: String] = [:],
        explanation: Explanation? = nil, parentWindow: String = "", hold: UInt32 = 0, isInteractive: Bool = true,
        arrived: EpochSeconds, dialog: PortalDialog? = nil, device: String? = nil
    ) {
        self.id = id
        self.path = path
        self.caller = caller
        self.questions = questions
        self.reasons = reasons
        self.explanation = explanation
        self.parentWindow = parentWindow
        self.hold = hold
        self.isInteractive = isInteractive
        self.arrived = arrived
        self.dialog = dialog
        self.device = device
    }
}

/// The answer to one question: a value of `decisions` that org.permd.Agent1.Prompt returns.
public struct ItemDecision: Sendable, Hashable {
    /// The decision.
    public var verdict: Verdict
    /// How long it is in force. It has no meaning for a portal's question.
    public var duration: Duration
    /// The selections in a portal's dialog, by the ID of the choice.
    public var choices: [String: String]

    /// Creates an answer.
    public init(verdict: Verdict, duration: Duration, choices: [String: String] = [:]) {
        self.verdict = verdict
        self.duration = duration
        self.choices = choices
    }
}

/// The user's answer to a prompt, decoded and checked.
public enum Answer: Sendable, Hashable {
    /// A decision for each question; one that is left out stays undecided.
    case answered([Question: ItemDecision])
    /// Not now: nothing is decided.
    case dismissed
}

/// A registered agent. A connection may have several, with different paths.
public struct AgentID: Sendable, Hashable {
    /// The unique name of its connection.
    public let connection: String
    /// Its object path.
    public let path: String
    /// Creates the ID of an agent.
    public init(connection: String, path: String) {
        self.connection = connection
        self.path = path
    }
}
