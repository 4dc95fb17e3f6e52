// When a thread that was let go loses its place.

import GuardRules
import Testing

struct LetGoThreadsTests {
    /// One that was let go just before a turn has had no time to make its call again.
    @Test func eachHasAWholeTurn() {
        var threads = LetGoThreads()
        threads.insert(1)
        #expect(threads.turn() == [])
        threads.insert(2)
        #expect(threads.turn() == [1])
        #expect(!threads.isEmpty)
        #expect(threads.turn() == [2])
        #expect(threads.isEmpty)
    }

    @Test func letGoAgain() {
        var threads = LetGoThreads()
        threads.insert(1)
        #expect(threads.turn() == [])
        threads.insert(1)
        #expect(threads.turn() == [])
        #expect(threads.turn() == [1])
        #expect(threads.isEmpty)
    }
}
