// When the connection to the bus is lost, all callers and agents leave at once; the queue then serves new ones.

import Testing

@Suite
struct QueueDisconnectedTests {
    /// No agent is asked to withdraw its prompt, and no request or timer remains.
    @Test func allCallersAndAgentsLeave() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 b camera,microphone
            queued 1
            > disconnected
            drop #1
            stop prompt#1
            forget 1
            record a:camera=withdrawn
            forget 2
            record b:camera=withdrawn,b:microphone=withdrawn
            length 0
            > request 3 a camera
            accept 3
            moved 3 queued 0
            start-agent
            timer agentWait 10000
            length 1
            > agent B desktop
            stop agentWait
            show B #2 3 camera waiting=0
            timer prompt#2 300000
            moved 3 showing 0
            """)
    }

    /// The decisions are still committed, but nobody receives a response.
    @Test func disconnectedWhileAnAnswerIsBeingWritten() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > answer A #1 camera=grant/always
            stop prompt#1
            commit 1 camera=grant/always; a:camera=granted/person
            > disconnected
            drop #1
            stop prompt#1
            forget 1
            length 0
            > committed 1
            """)
    }

    @Test func theDismissalThrottleKeepsItsCounts() {
        QueueScript.play(
            """
            > restored a camera 3 1700000600
            > disconnected
            > request 1 a camera
            record a:camera=dismissed/throttle
            accept 1
            respond 1 dismissed camera=undetermined refused=camera retry=1699999600
            """)
    }
}
