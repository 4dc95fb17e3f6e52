// The connection to the bus is lost: everybody leaves at once, and the queue goes on with whoever comes next.

import Testing

@Suite
struct QueueDisconnectedTests {
    /// Requests are withdrawn by nobody, agents are gone, and nothing is left that waits.
    @Test func everybodyLeaves() {
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

    /// An answer that is being written is written, and heard by nobody.
    @Test func anAnswerIsBeingWritten() {
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

    /// What it knows of apps that ask too often stays.
    @Test func countsGoOn() {
        QueueScript.play(
            """
            > restored a camera 3 1700000600
            > disconnected
            > request 1 a camera
            record a:camera=dismissed/guard
            accept 1
            respond 1 dismissed camera=undetermined refused=camera
            """)
    }
}
