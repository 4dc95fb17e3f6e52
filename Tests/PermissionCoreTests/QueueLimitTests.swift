// Requests over the limits are refused and leave no trace in the queue.

import Testing

@Suite
struct QueueLimitTests {
    /// The call itself is refused; other apps are not affected.
    @Test func requestsOfOneApp() {
        QueueScript.play(
            """
            > settings waitingPerApp=2
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 a@y microphone
            queued 1
            > request 3 a location
            refuse 3 LimitExceeded
            > request 4 b camera
            queued 2
            = a bluetooth granted
            > request 5 a bluetooth
            accept 5
            respond 5 answered bluetooth=granted
            record a:bluetooth=granted
            > close 1
            withdraw A #1
            stop prompt#1
            forget 1
            record a:camera=withdrawn
            show A #2 2 microphone waiting=1
            timer prompt#2 300000
            moved 2 showing 0
            moved 4 queued 1
            length 2
            > request 6 a location
            queued 2
            """)
    }

    /// The request on screen counts.
    @Test func requestsOfAllApps() {
        QueueScript.play(
            """
            > settings waiting=2
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 b camera
            queued 1
            > request 3 c camera
            refuse 3 LimitExceeded
            = c camera denied
            > request 4 c camera
            accept 4
            respond 4 answered camera=denied refused=camera
            record c:camera=denied
            > close 2
            forget 2
            record b:camera=withdrawn
            length 1
            > request 5 c microphone
            queued 1
            """)
    }
}
