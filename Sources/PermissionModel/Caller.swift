// Who makes requests, who shows prompts, and what a person answers.

/// An identified bus connection.
package struct Caller: Sendable, Hashable {
    /// The unique name, such as `:1.42`.
    package let connection: String
    /// The app.
    package let app: AppID
    /// What a decision `once` is about: the process that made the connection, or the one that stands for the running
    /// instance of its sandbox.
    package let process: ProcessKey
    /// Whether it is in a sandbox that names no app, such as a container.
    package let mayBeSandboxed: Bool
    /// Whether the app is sandboxed, or may be.
    package var isSandboxed: Bool { app.isSandboxed || mayBeSandboxed }

    /// Creates a caller.
    package init(connection: String, app: AppID, process: ProcessKey, mayBeSandboxed: Bool = false) {
        self.connection = connection
        self.app = app
        self.process = process
        self.mayBeSandboxed = mayBeSandboxed
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
package enum PromptAnswer: Sendable, Hashable {
    /// A decision for each question; one that is left out stays undecided.
    case answered([PromptItem: ItemDecision])
    /// Not now: nothing is decided.
    case dismissed
}

/// A registered agent. A connection may have several, with different paths.
package struct AgentID: Sendable, Hashable {
    /// The unique name of its connection.
    package let connection: String
    /// Its object path.
    package let path: String
    /// Creates the ID of an agent.
    package init(connection: String, path: String) {
        self.connection = connection
        self.path = path
    }
}
