// What a person can select for a permission of an app, and what is selected now.

import PermissionClient
import PermissionTexts

enum Selection: Sendable, Hashable {
    /// No decision: the app asks.
    case ask
    case allow
    case allowThisSession
    /// Until the given time; offered as "for one hour" and "until tomorrow".
    case allowForAnHour
    case allowUntilTomorrow
    case deny
    /// The decision in force, which is none of the others: with its text.
    case current(String)

    /// The order in which they are offered.
    static let offered: [Selection] = [.ask, .allow, .allowThisSession, .allowForAnHour, .allowUntilTomorrow, .deny]

    var label: String {
        switch self {
        case .ask: Texts.text("Ask")
        case .allow: Texts.text("Always allow")
        case .allowThisSession: Texts.text("Allow until I log out")
        case .allowForAnHour: Texts.text("Allow for one hour")
        case .allowUntilTomorrow: Texts.text("Allow until tomorrow")
        case .deny: Texts.text("Never allow")
        case .current(let text): text
        }
    }

    /// The decision to be set; nil to reset.
    func decision(now: EpochSeconds) -> (verdict: Verdict, duration: Duration)? {
        switch self {
        case .ask, .current: nil
        case .allow: (.grant, .always)
        case .allowThisSession: (.grant, .session)
        case .allowForAnHour: (.grant, .until(now + 3600))
        case .allowUntilTomorrow: (.grant, .until(LocalDay.start(1, from: now)))
        case .deny: (.deny, .always)
        }
    }

    /// What a decision or pause amounts to.
    static func of(_ row: DecisionRow?, byRule: Bool) -> Selection {
        guard let row else { return byRule ? .current(Texts.text("Allowed by a Rule")) : .ask }
        switch (row.decision, row.duration) {
        case (.grant, .always): return .allow
        case (.grant, .session): return .allowThisSession
        case (.deny, .always): return .deny
        case (.grant, .once): return .current(Texts.text("Allowed this time"))
        case (.deny, .session): return .current(Texts.text("Not allowed until I log out"))
        case (.grant, _): return .current(Texts.text("Allowed for a time"))
        case (.deny, _): return .current(Texts.text("Not allowed for a time"))
        case (.pause, _): return .current(Texts.text("Paused"))
        case (.unknown, _): return .current(Texts.text("Decided by a newer permd"))
        }
    }
}
