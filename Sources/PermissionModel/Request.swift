// A request, its prompt, and what an agent may answer.

/// Names one request for as long as the daemon runs; in the journal as PERMD_REQUEST with its object path.
public struct RequestID: Sendable, Hashable, Comparable {
    public let number: UInt64
    public init(_ number: UInt64) { self.number = number }
    public static func < (a: RequestID, b: RequestID) -> Bool { a.number < b.number }
}

/// Who is behind a bus connection.
public struct Caller: Sendable, Hashable {
    /// The unique name, `:1.42`.
    public let connection: String
    public let app: AppID
    public let process: ProcessKey
    /// It passes on what others say, and nobody knows who they are.
    public let isProxy: Bool
    /// A proxy outside any sandbox counts as sandboxed: it is there for a program that is.
    public var isSandboxed: Bool { app.isSandboxed || isProxy }

    public init(connection: String, app: AppID, process: ProcessKey, isProxy: Bool = false) {
        self.connection = connection
        self.app = app
        self.process = process
        self.isProxy = isProxy
    }
}

/// What an app says before the question, made safe to show.
public struct Explanation: Sendable, Hashable {
    public var title: String
    public var body: String
    public init(title: String, body: String) {
        self.title = title
        self.body = body
    }
}

/// One call of `RequestAccess`, decoded, bounded and with its caller known.
public struct AccessRequest: Sendable, Hashable {
    public let id: RequestID
    /// Its object path.
    public let path: String
    public let caller: Caller
    /// In the asked order; none twice, at least one.
    public let questions: [Question]
    public var reasons: [Permission: String]
    public var explanation: Explanation?
    public var parentWindow: String
    /// Seconds, 0 for none, at most `Limits.maximumHold`.
    public var hold: UInt32
    public var isInteractive: Bool
    public let arrived: EpochSeconds
    /// The portal's dialog it stands for; nil for a request of an app itself.
    public var dialog: PortalDialog?

    public init(
        id: RequestID, path: String, caller: Caller, questions: [Question], reasons: [Permission: String] = [:],
        explanation: Explanation? = nil, parentWindow: String = "", hold: UInt32 = 0, isInteractive: Bool = true,
        arrived: EpochSeconds, dialog: PortalDialog? = nil
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
    }
}

/// One of an agent's answers to one item.
public struct ItemDecision: Sendable, Hashable {
    public var verdict: Verdict
    public var duration: Duration
    /// What was chosen of a portal dialog's choices, by their ids.
    public var choices: [String: String]

    public init(verdict: Verdict, duration: Duration, choices: [String: String] = [:]) {
        self.verdict = verdict
        self.duration = duration
        self.choices = choices
    }
}

/// What a person said to a prompt, already checked for form.
public enum Answer: Sendable, Hashable {
    case answered([Question: ItemDecision])
    case dismissed
}

/// An agent on the bus. `path` tells apart several of one connection.
public struct AgentID: Sendable, Hashable {
    public let connection: String
    public let path: String
    public init(connection: String, path: String) {
        self.connection = connection
        self.path = path
    }
}
