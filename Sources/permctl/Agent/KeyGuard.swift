// Decides when a key counts: a person who is typing when a prompt appears must not answer it by accident.

import Glibc

/// Asleep until no key was pressed for ``milliseconds``. It stays awake then, until it is armed again.
struct KeyGuard: Equatable {
    static let milliseconds: Int64 = 400

    /// When the last key was pressed, or the guard was armed; nil while it is awake.
    private var quietSince: Int64?

    init(at now: Int64) { quietSince = now }

    var isAwake: Bool { quietSince == nil }

    mutating func arm(at now: Int64) { quietSince = now }

    /// Milliseconds to wait for a key before the guard may wake up; -1 (for ever) while it is awake.
    func timeout(at now: Int64) -> Int32 {
        quietSince.map { Int32(max(0, min($0 + KeyGuard.milliseconds - now, KeyGuard.milliseconds))) } ?? -1
    }

    /// To be called when no key came within ``timeout(at:)``: a key that is only read later than that counts as pressed
    /// in that time.
    mutating func wakeUp() { quietSince = nil }

    /// Milliseconds of a clock that is never set.
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
