// Prevents accidental answers: they count only after a period without input.

/// Decides when a prompt may be answered. A fixed delay is not enough, because the person may be clicking or typing
/// when the prompt appears: each press during the delay restarts it.
struct InputDelay {
    /// Milliseconds without a press, counted from when the window is shown and has the focus.
    static let calm: Int64 = 500

    private var quietSince: Int64?
    private(set) var isAwake = false

    /// The window appeared, got the focus, or shows another question.
    mutating func arm(at now: Int64) {
        quietSince = now
        isAwake = false
    }

    /// The window is hidden or has lost the focus: no answer counts.
    mutating func disarm() {
        quietSince = nil
        isAwake = false
    }

    /// A key or a button was pressed.
    mutating func press(at now: Int64) {
        if !isAwake, quietSince != nil { quietSince = now }
    }

    /// Goes on as before it was armed: by the focus that the press itself has given the window.
    mutating func keepAwake() { isAwake = true }

    /// Wakes up if there was no press for long enough. Returns true only when this call wakes it up.
    mutating func wake(at now: Int64) -> Bool {
        guard !isAwake, let quietSince, now - quietSince >= InputDelay.calm else { return false }
        isAwake = true
        return true
    }
}
