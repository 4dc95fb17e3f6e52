// While nobody is in front, locked or switched away, nothing is prompted; afterwards the queue goes on.

import Testing

@Suite
struct QueueSeatActivityTests {
    /// What is on screen is withdrawn, and comes again to the same agent, with all of its time.
    @Test func aPromptGoesAwayAndComesAgain() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > away
            withdraw A #1
            stop prompt#1
            moved 1 queued 0
            + 3600
            # An answer that was on its way counts no more.
            > answer A #1 camera=grant/always
            > answer A #1 dismissed
            > fail A #1
            > back
            show A #2 1 camera waiting=0
            timer prompt#2 300000
            moved 1 showing 0
            > answer A #2 camera=deny/always
            stop prompt#2
            commit 1 camera=deny/always; a:camera=denied/person
            = a camera denied
            > committed 1
            respond 1 answered camera=denied refused=camera
            length 0
            """)
    }

    /// However often it goes away, that is no failure of its agent and no dismissal by the person.
    @Test func goingAwayCountsForNothing() {
        QueueScript.play(
            """
            > settings nagLimit=2
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > away
            withdraw A #1
            stop prompt#1
            moved 1 queued 0
            > back
            show A #2 1 camera waiting=0
            timer prompt#2 300000
            moved 1 showing 0
            > away
            withdraw A #2
            stop prompt#2
            moved 1 queued 0
            > back
            show A #3 1 camera waiting=0
            timer prompt#3 300000
            moved 1 showing 0
            > answer A #3 dismissed
            stop prompt#3
            nag a camera 1
            record a:camera=dismissed/person
            respond 1 dismissed camera=undetermined refused=camera
            length 0
            """)
    }

    /// Whoever asks meanwhile waits in the order of asking.
    @Test func newRequestsWait() {
        QueueScript.play(
            """
            > agent A desktop
            > away
            > request 1 a camera
            queued 0
            > request 2 b camera
            queued 1
            > back
            show A #1 1 camera waiting=1
            timer prompt#1 300000
            moved 1 showing 0
            """)
    }

    /// Nobody is called to show a prompt, and nobody's absence ends one.
    @Test func noAgentIsWaitedFor() {
        QueueScript.play(
            """
            > request 1 a camera
            accept 1
            moved 1 queued 0
            start-agent
            timer agentWait 10000
            length 1
            > away
            stop agentWait
            > timer agentWait
            > request 2 b camera
            queued 1
            > agent A desktop
            > agent-left A
            > back
            start-agent
            timer agentWait 10000
            """)
    }

    /// What needs no prompt is answered as ever.
    @Test func whatIsSettledIsAnswered() {
        QueueScript.play(
            """
            > agent A desktop
            > away
            > request 1 a camera
            queued 0
            = b camera granted
            > request 2 b camera
            accept 2
            respond 2 answered camera=granted
            record b:camera=granted
            = a camera granted
            > facts
            respond 1 answered camera=granted
            record a:camera=granted
            length 0
            > request 3 c camera
            queued 0
            > left c
            forget 3
            record c:camera=withdrawn
            length 0
            """)
    }

    /// An answer given in time is written, and the next prompt waits.
    @Test func anAnswerBeforeIsKept() {
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
            > away
            = a camera granted
            > committed 1
            respond 1 answered camera=granted
            moved 2 queued 0
            length 1
            > back
            show A #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            """)
    }

    /// Agents that failed before stay tried; the one on screen is asked again.
    @Test func earlierFailuresStay() {
        QueueScript.play(
            """
            > agent T terminal
            > agent D desktop
            > request 1 a camera
            shown D #1 camera
            > fail D #1
            stop prompt#1
            show T #2 1 camera waiting=0
            timer prompt#2 300000
            > away
            withdraw T #2
            stop prompt#2
            moved 1 queued 0
            > back
            show T #3 1 camera waiting=0
            timer prompt#3 300000
            moved 1 showing 0
            """)
    }
}
