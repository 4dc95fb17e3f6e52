// While the seat is inactive (locked or switched away) no prompt is shown; afterwards the queue continues.

import Testing

@Suite
struct QueueSeatActivityTests {
    /// Later the same agent shows the prompt again, with its full timeout.
    @Test func aPromptIsWithdrawnAndShownAgain() {
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
            # Answers to the withdrawn prompt are ignored.
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
            > committed 1
            respond 1 answered camera=denied refused=camera
            length 0
            """)
    }

    @Test func withdrawalsAreNeitherFailuresNorDismissals() {
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

    /// Requests that arrive meanwhile wait in order of arrival.
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

    /// No agent is started, and no request fails for lack of one.
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

    @Test func requestsThatNeedNoPromptAreAnswered() {
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

    /// The answer is written, and the next prompt waits.
    @Test func anAnswerGivenBeforehandIsKept() {
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

    /// An agent that failed is not tried again; the one whose prompt was on screen is.
    @Test func earlierFailuresAreRemembered() {
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
