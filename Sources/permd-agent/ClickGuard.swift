// Nobody grants by accident: answers count only after a calm moment.

/// Decides when a prompt may be answered. A fixed delay is not enough, as somebody may be clicking or typing all along:
/// the moment starts anew with each press in it.
struct ClickGuard {
    /// Milliseconds of calm, since the window is there and has the focus.
    static let calm: Int64 = 500

    private var quietSince: Int64?
    private(set) var isAwake = false

    /// The window appeared, got the focus, or shows another question.
    mutating func arm(at now: Int64) {
        quietSince = now
        isAwake = false
    }

    /// The window is hidden or has lost the focus: nothing counts.
    mutating func disarm() {
        quietSince = nil
        isAwake = false
    }

    /// A key or a button was pressed.
    mutating func press(at now: Int64) {
        if !isAwake, quietSince != nil { quietSince = now }
    }

    /// Wakes up once it was calm long enough; true when it does so now.
    mutating func look(at now: Int64) -> Bool {
        guard !isAwake, let quietSince, now - quietSince >= ClickGuard.calm else { return false }
        isAwake = true
        return true
    }
}
