// The input delay, with times given by the tests.

import Testing

@testable import permd_agent

@Suite
struct InputDelayTests {
    /// The results of looking at each of these times.
    private func wakes(_ delay: inout InputDelay, _ times: Int64...) -> [Bool] {
        times.map { delay.wake(at: $0) }
    }

    @Test func wakesAfterTheDelay() {
        var delay = InputDelay()
        let before = wakes(&delay, 0)
        delay.arm(at: 100)
        // It reports waking up only once.
        let after = wakes(&delay, 599, 600, 700)
        #expect(before == [false] && after == [false, true, false] && delay.isAwake)
    }

    /// It never wakes up while presses continue.
    @Test(arguments: [1, 50, 200, 499])
    func everyPressRestartsTheDelay(_ interval: Int64) {
        var delay = InputDelay()
        delay.arm(at: 0)
        var now: Int64 = 0
        var woke = false
        while now < 60_000 {
            now += interval
            woke = delay.wake(at: now) || woke
            delay.press(at: now)
        }
        #expect(!woke)
        let after = delay.wake(at: now + 500)
        #expect(after)
    }

    @Test func losingTheFocusRestartsTheDelay() {
        var delay = InputDelay()
        delay.arm(at: 0)
        let first = wakes(&delay, 500)
        delay.disarm()
        let asleep = wakes(&delay, 5000)
        delay.arm(at: 6000)
        let second = wakes(&delay, 6499, 6500)
        #expect(first == [true] && asleep == [false] && second == [false, true])
    }

    @Test func pressesWithoutAWindowDoNothing() {
        var delay = InputDelay()
        delay.press(at: 10)
        let woke = delay.wake(at: 10_000)
        #expect(!woke)
    }
}
