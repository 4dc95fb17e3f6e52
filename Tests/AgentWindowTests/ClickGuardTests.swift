// The click guard, with times given by the tests.

import Testing

@testable import permd_agent

@Suite
struct ClickGuardTests {
    /// The results of looking at each of these times.
    private func looks(_ guarded: inout ClickGuard, _ moments: Int64...) -> [Bool] {
        moments.map { guarded.look(at: $0) }
    }

    @Test func wakesAfterTheDelay() {
        var guarded = ClickGuard()
        let before = looks(&guarded, 0)
        guarded.arm(at: 100)
        // It reports waking up only once.
        let after = looks(&guarded, 599, 600, 700)
        #expect(before == [false] && after == [false, true, false] && guarded.isAwake)
    }

    /// It never wakes up while presses continue.
    @Test(arguments: [1, 50, 200, 499])
    func everyPressRestartsTheDelay(_ interval: Int64) {
        var guarded = ClickGuard()
        guarded.arm(at: 0)
        var now: Int64 = 0
        var woke = false
        while now < 60_000 {
            now += interval
            woke = guarded.look(at: now) || woke
            guarded.press(at: now)
        }
        #expect(!woke)
        let after = guarded.look(at: now + 500)
        #expect(after)
    }

    @Test func losingTheFocusRestartsTheDelay() {
        var guarded = ClickGuard()
        guarded.arm(at: 0)
        let first = looks(&guarded, 500)
        guarded.disarm()
        let asleep = looks(&guarded, 5000)
        guarded.arm(at: 6000)
        let second = looks(&guarded, 6499, 6500)
        #expect(first == [true] && asleep == [false] && second == [false, true])
    }

    @Test func pressesWithoutAWindowDoNothing() {
        var guarded = ClickGuard()
        guarded.press(at: 10)
        let woke = guarded.look(at: 10_000)
        #expect(!woke)
    }
}
