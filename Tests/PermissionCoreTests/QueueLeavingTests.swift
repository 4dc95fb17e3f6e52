// Requests leave the queue when they are closed, when their caller leaves, and when the daemon shuts down.

import Testing

@Suite
struct QueueLeavingTests {
    /// It is recorded as withdrawn, without a Response.
    @Test func closedWhileQueued() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 b camera,microphone
            queued 1
            > request 3 c camera
            queued 2
            > close 2
            forget 2
            record b:camera=withdrawn,b:microphone=withdrawn
            moved 3 queued 1
            length 2
            > close 2
            > close 77
            """)
    }

    /// If the app does not ask again, the prompt is withdrawn and the next request is shown.
    @Test func closedOnScreen() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 b camera
            queued 1
            > close 1
            forget 1
            timer withdrawal1 2000
            length 1
            > timer withdrawal 1
            withdraw A #1
            stop prompt#1
            record a:camera=withdrawn
            show A #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            > answer A #1 camera=grant/always
            """)
    }

    /// A page that is loaded again gets its place back, and its prompt stays on the screen.
    @Test func closedAndAskedAgain() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a@x camera
            shown A #1 camera
            > request 2 b camera
            queued 1
            > close 1
            forget 1
            timer withdrawal1 2000
            length 1
            > request 3 a@y microphone
            accept 3
            moved 3 queued 2
            length 2
            > request 4 a@y camera
            stop withdrawal1
            accept 4
            moved 4 showing 0
            length 3
            > timer withdrawal 1
            > answer A #1 camera=grant/always
            stop prompt#1
            commit 4 camera=grant/always; a:camera=granted/person
            = a camera granted
            > committed 4
            respond 4 answered camera=granted
            show A #2 2 camera waiting=1
            timer prompt#2 300000
            moved 2 showing 0
            moved 3 queued 1
            length 2
            """)
    }

    /// What the person answers just after the app has left counts.
    @Test func closedAndAnswered() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > close 1
            forget 1
            timer withdrawal1 2000
            length 0
            > answer A #1 camera=deny/always
            stop prompt#1
            commit 1 camera=deny/always; a:camera=denied/person
            > timer withdrawal 1
            = a camera denied
            > committed 1
            stop withdrawal1
            """)
    }

    /// This includes the request on screen, but no request of another caller.
    @Test func aCallersRequestsLeaveWithIt() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a@x camera
            shown A #1 camera
            > request 2 b camera
            queued 1
            > request 3 a@x microphone
            queued 2
            > request 4 a@y microphone
            queued 3
            > left x
            forget 3
            record a:microphone=withdrawn
            forget 1
            timer withdrawal1 2000
            moved 4 queued 2
            length 2
            > timer withdrawal 1
            withdraw A #1
            stop prompt#1
            record a:camera=withdrawn
            show A #2 2 camera waiting=1
            timer prompt#2 300000
            moved 2 showing 0
            moved 4 queued 1
            > left x
            """)
    }

    /// The decision is made, but nobody receives it. Nothing else is shown until it is on disk: the app's next request
    /// would ask the same question again.
    @Test func aCallerThatLeavesWhileItsAnswerIsWritten() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 b camera
            queued 1
            > answer A #1 camera=grant/always
            stop prompt#1
            commit 1 camera=grant/always; a:camera=granted/person
            > left a
            forget 1
            moved 2 queued 0
            length 1
            > close 1
            > request 3 a@y camera
            queued 1
            > facts
            > committed 1
            respond 3 answered camera=granted
            record a:camera=granted
            length 1
            show A #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            > committed 1
            """)
    }

    /// Shutdown does not wait for an answer whose caller has left.
    @Test func shutdownAfterACallerLeftWhileItsAnswerIsWritten() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > answer A #1 camera=grant/always
            stop prompt#1
            commit 1 camera=grant/always; a:camera=granted/person
            > left a
            forget 1
            length 0
            > shutdown
            > committed 1
            """)
    }

    /// The effect is the same as when the caller leaves.
    @Test func closedWhileItsAnswerIsWritten() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > answer A #1 camera=grant/always
            stop prompt#1
            commit 1 camera=grant/always; a:camera=granted/person
            > close 1
            forget 1
            length 0
            > committed 1
            """)
    }

    /// Each gets Response 2, the prompt is withdrawn, and no further request is accepted.
    @Test func shutdownAnswersAllRequests() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 b camera hold=15
            queued 1
            > shutdown
            withdraw A #1
            stop prompt#1
            respond 1 NoAgent camera=undetermined refused=camera
            respond 2 NoAgent camera=undetermined refused=camera
            length 0
            > request 3 c camera
            refuse 3 NoAgent
            > facts
            """)
    }

    /// The wait for an agent ends as well.
    @Test func shutdownWithoutAnAgent() {
        QueueScript.play(
            """
            > request 1 a camera
            accept 1
            moved 1 queued 0
            start-agent
            timer agentWait 10000
            length 1
            > shutdown
            stop agentWait
            respond 1 NoAgent camera=undetermined refused=camera
            length 0
            """)
    }

    /// The daemon waits for the disk before it shuts the queue down; an answer not written by then is not sent.
    @Test func shutdownWhileAnAnswerIsWritten() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > answer A #1 camera=grant/always
            stop prompt#1
            commit 1 camera=grant/always; a:camera=granted/person
            > shutdown
            respond 1 NoAgent camera=undetermined refused=camera
            length 0
            """)
    }
}
