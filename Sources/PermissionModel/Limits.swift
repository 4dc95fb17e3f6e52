// The limits of requests and prompts, with their reasons, and an administrator's configuration. A limit of one component
// stands there.

/// The limits that are fixed.
public enum Limits {
    /// Unicode scalars of a reason or of an explanation's body. Users do not read more before they answer.
    public static let bodyScalars = 512
    /// Unicode scalars of a title or of an app's name: one line of a window.
    public static let titleScalars = 80
    /// Seconds for which a reservation keeps a place in the queue: long enough for code between two requests, too short to
    /// lock other apps out.
    public static let maximumReservation: UInt32 = 15
    /// Seconds between the starts of two reservations of an app, so that an app cannot keep the queue with consecutive ones.
    public static let reservationInterval: EpochSeconds = 60
    /// The number of requests withdrawn within ``withdrawalWindow`` that throttles an app. A user who changes their
    /// mind, or a program that is restarted, withdraws fewer; a program in a loop reaches the number at once.
    public static let withdrawals = 5
    /// Seconds in which withdrawn requests are counted.
    public static let withdrawalWindow: EpochSeconds = 60
    /// Seconds for which a throttled app gets no prompts: as long as ``withdrawalWindow``, so that it gets at most
    /// ``withdrawals`` prompts in that time.
    public static let withdrawalPause: EpochSeconds = 60
    /// Seconds for which the prompt of a request without a caller stays open: a page that is loaded again asks again within
    /// them.
    public static let withdrawalGrace: Int64 = 2
    /// Seconds of a prompt on screen from which on its withdrawal does not count: it did not flicker.
    public static let flicker: Int64 = 5
    /// The number of apps whose withdrawals are counted. It bounds the memory that a program with ever new identities
    /// can use, and exceeds the number of apps that make requests within a minute on any desktop.
    public static let withdrawingApps = 1024
    /// The number of prompts in a row that run out unanswered, or the same time in prompts that the app withdraws, after
    /// which an app is paused for `NagPauseSec`: it must not keep the screen by being ignored.
    public static let unansweredPrompts: Int64 = 3
    /// The apps that a prompt names as waiting behind it: one line of a window.
    public static let appsBehind = 5
    /// The decisions that are kept. Each is an answer of a person, of whom nobody gives so many; all of them are in
    /// memory, where they take some megabytes, and are read at the start.
    public static let decisions = 16_384
    /// Consecutive failed prompts after which an agent is unregistered.
    public static let agentFailures = 3
}

/// Whom an enforcement point asks before it lets an app use a device: the setting `Ask`.
package enum AskScope: String, Sendable, Hashable, CaseIterable {
    /// Sandboxed apps. Others pass while nothing was decided about them.
    case sandboxed
    /// All apps.
    case all
    /// Nobody. Nothing is enforced, and uses are reported.
    case none
}

/// A setting that is `yes` or `no`.
package enum YesNo: String, Sendable, Hashable, CaseIterable {
    case yes, no
}

/// The configuration in `permd.conf`, with their defaults; see permd.conf(5).
package struct Configuration: Sendable, Hashable {
    /// `AgentWaitSec`: seconds to wait for an agent when a prompt is due and there is none. An agent that the bus
    /// starts needs less.
    package var agentWait: Int64 = 10
    /// `TimeoutSec`: seconds after which a prompt without an answer ends.
    package var promptTimeout: Int64 = 300
    /// `NagLimit`: consecutive dismissals that start a pause of the dismissal throttle.
    package var nagLimit: Int = 3
    package static let maximumNagLimit = 1000
    /// `NagPauseSec`: seconds of that pause, and of the one after ``Limits/unansweredPrompts``.
    package var nagPause: Int64 = 600
    /// `WaitingPerApp`: requests of one app that may wait for an answer. More are a bug or a flood.
    package var waitingPerApp: Int = 32
    /// `Waiting`: requests of all apps that may wait for an answer; bounds the daemon's memory.
    package var waiting: Int = 1024
    /// `MaxRows`: rows of the history that are kept.
    package var historyRows: Int = 10_000
    /// `MaxDays`: days for which rows of the history are kept.
    package var historyDays: Int = 90
    /// `UnusedDays`: days without a use after which a grant for ever is taken back; 0 means never.
    package var unusedDays: Int = 90
    /// `Ask`: whom enforcement points ask.
    package var ask = AskScope.sandboxed
    /// `Enabled` of `[Indicator]`: whether `permd-indicator` is started when something is used or granted for ever.
    package var indicator = YesNo.yes

    /// Creates the defaults.
    package init() {}
}
