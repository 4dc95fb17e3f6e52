// Whether a person is in front of the screen, so that prompts may be shown: not while all sessions of the user are locked
// or in the background.

struct SeatActivity {
    let isThere: Bool
    /// For the log.
    let why: String

    /// One active and unlocked session is enough. Remote sessions count only if there are no local ones, because they
    /// would bring prompts onto a locked screen. Without logind, or without a session, somebody is assumed to be there.
    init(_ view: LoginSessions.View) {
        switch view {
        case .awaited: (isThere, why) = (false, "permd waits for logind before it prompts")
        case .absent(let reason):
            (isThere, why) = (
                true, "logind does not report whether the session is locked (\(reason)): prompts are always shown"
            )
        case .sessions(let all):
            let here = all.filter(\.hasSeat)
            let counting = here.isEmpty ? all : here
            isThere = counting.isEmpty || counting.contains { $0.isActive && !$0.isLocked }
            why =
                isThere
                ? "the user's session is active and unlocked, or there is none: prompts are shown"
                : "the session is locked or in the background: prompts wait"
        }
    }
}
