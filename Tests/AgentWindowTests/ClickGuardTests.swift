// The click guard, with times given by the tests.

import Testing

@testable import permd_agent

@Suite
struct ClickGuardTests {
    /// The results of looking at each of these times.
    private func wakes(_ guarded: inout ClickGuard, _ times: Int64...) -> [Bool] {
        times.map { guarded.wake(at: $0) }
    }

    @Test func wakesAfterTheDelay() {
        var guarded = ClickGuard()
        let before = wakes(&guarded, 0)
        guarded.arm(at: 100)
        // It reports waking up only once.
        let after = wakes(&guarded, 599, 600, 700)
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
            woke = guarded.wake(at: now) || woke
            guarded.press(at: now)
        }
        #expect(!woke)
        let after = guarded.wake(at: now + 500)
        #expect(after)
    }

    @Test func losingTheFocusRestartsTheDelay() {
        var guarded = ClickGuard()
        guarded.arm(at: 0)
        let first = wakes(&guarded, 500)
        guarded.disarm()
        let asleep = wakes(&guarded, 5000)
        guarded.arm(at: 6000)
        let second = wakes(&guarded, 6499, 6500)
        #expect(first == [true] && asleep == [false] && second == [false, true])
    }

    @Test func pressesWithoutAWindowDoNothing() {
        var guarded = ClickGuard()
        guarded.press(at: 10)
        let woke = guarded.wake(at: 10_000)
        #expect(!woke)
    }
}
