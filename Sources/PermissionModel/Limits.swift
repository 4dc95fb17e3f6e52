// Every limit of the contract, with its reason. The ones an administrator can set are in `Settings`.

public enum Limits {
    /// Scalars of a reason or an explanation's body: a person reads no more before answering.
    public static let bodyScalars = 512
    /// Scalars of a title or an app's name: one line of a window.
    public static let titleScalars = 80
    /// Seconds a place is kept: long enough for code between two questions, too short to lock others out.
    public static let maximumHold: UInt32 = 15
    /// Seconds between two holds of one app, so that holds cannot be chained into owning the queue.
    public static let holdInterval: EpochSeconds = 60
    /// Prompts an app may withdraw itself within `withdrawalWindow`: a person who changes their mind, or a program that
    /// is started anew, needs fewer; a program in a loop gets there at once.
    public static let withdrawals = 5
    /// Seconds in which withdrawals are counted.
    public static let withdrawalWindow: EpochSeconds = 60
    /// Seconds for which such an app is not shown: as long, so that it gets at most `withdrawals` prompts in each.
    public static let withdrawalPause: EpochSeconds = 60
    /// Apps whose withdrawals are remembered: more than ask within a minute on any desktop; bounds the memory that a
    /// program under ever new names can take.
    public static let withdrawingApps = 1024
    /// Failed prompts in a row after which an agent is unregistered: it is broken, not unlucky.
    public static let agentFailures = 3
}

/// What an administrator can set in `permd.conf`; the defaults are the contract's. Times are seconds.
public struct Settings: Sendable, Hashable {
    /// How long a queue without an agent waits for one: a bus-activated agent starts well within it.
    public var agentWait: Int64 = 10
    /// A prompt nobody answers for so long has nobody in front of it.
    public var promptTimeout: Int64 = 300
    /// Dismissals in a row before the dismissal throttle steps in.
    public var nagLimit: Int = 3
    /// How long the dismissal throttle dismisses unseen.
    public var nagPause: Int64 = 600
    /// Requests of one app not yet answered: more is a bug or a flood.
    public var waitingPerApp: Int = 32
    /// Requests not yet answered in all: bounds the daemon's memory.
    public var waiting: Int = 1024
    /// Rows of history kept.
    public var historyRows: Int = 10_000
    /// Days of history kept.
    public var historyDays: Int = 90

    public init() {}
}
