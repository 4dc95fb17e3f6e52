// Which answers count, and what happens after one that does not.

import Testing

@Suite
struct QueueAnswerTests {
    /// Answers from other agents or for other prompts are ignored.
    @Test func onlyTheAskedAgentAnswersTheOpenPrompt() {
        QueueScript.play(
            """
            > agent A desktop
            > agent B terminal
            > request 1 a camera
            shown A #1 camera
            > answer B #1 camera=grant/always
            > answer A #2 camera=grant/always
            > answer A #0 camera=grant/always
            > fail B #1
            > fail A #9
            > agent-left B
            """)
    }

    /// An item that the answer omits stays undecided: it is recorded as dismissed, but the throttle does not count it.
    @Test func itemsThatWereNotAskedAreIgnored() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera,microphone
            shown A #1 camera,microphone
            > answer A #1 camera=grant/always,location=grant/always
            stop prompt#1
            commit 1 camera=grant/always; a:camera=granted/person,a:microphone=dismissed/person
            > committed 1
            respond 1 answered camera=granted,microphone=undetermined refused=microphone
            length 0
            """)
    }

    /// The request ends as dismissed.
    @Test func anEmptyAnswerDecidesNothing() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera,microphone
            shown A #1 camera,microphone
            > answer A #1
            stop prompt#1
            record a:camera=dismissed/person,a:microphone=dismissed/person
            respond 1 dismissed camera=undetermined,microphone=undetermined refused=camera
            length 0
            """)
    }

    @Test func anAnswerWithOnlyOtherItemsEqualsAnEmptyOne() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > answer A #1 location=grant/always
            stop prompt#1
            record a:camera=dismissed/person
            respond 1 dismissed camera=undetermined refused=camera
            length 0
            """)
    }

    /// None of it is stored, not even its valid items: the next agent is asked.
    @Test func anAnswerWhoseEndHasPassedIsRejected() {
        QueueScript.play(
            """
            > agent A desktop
            > agent B terminal
            > request 1 a camera,microphone
            shown A #1 camera,microphone
            > answer A #1 camera=grant/always,microphone=grant/1000
            stop prompt#1
            show B #2 1 camera,microphone waiting=0
            timer prompt#2 300000
            > answer B #2 camera=grant/always,microphone=grant/1001
            stop prompt#2
            commit 1 camera=grant/always,microphone=grant/1001; a:camera=granted/person,a:microphone=granted/person
            > committed 1
            respond 1 answered camera=granted,microphone=granted
            length 0
            """)
    }

    @Test func aOnceDecisionNamesTheRequestingProcess() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera,microphone
            shown A #1 camera,microphone
            > answer A #1 camera=grant/once,microphone=deny/session
            stop prompt#1
            commit 1 camera=grant/once!,microphone=deny/session; a:camera=granted/person,a:microphone=denied/person
            """)
    }

    /// The prompt is withdrawn and the request dismissed, but not by the person.
    @Test func aPromptTimesOut() {
        QueueScript.play(
            """
            > settings promptTimeout=60
            > agent A desktop
            > request 1 a camera
            accept 1
            moved 1 queued 0
            show A #1 1 camera waiting=0
            timer prompt#1 60000
            moved 1 showing 0
            length 1
            > request 2 a camera,microphone
            queued 1
            > request 3 b camera
            queued 2
            + 60
            > timer prompt #1
            withdraw A #1
            record a:camera=dismissed/timeout,a:camera=dismissed/timeout
            respond 1 dismissed camera=undetermined refused=camera
            show A #2 2 microphone waiting=1
            timer prompt#2 60000
            moved 2 showing 0
            moved 3 queued 1
            length 2
            > answer A #1 camera=grant/always
            """)
    }

    @Test func aTimerOfAnEarlierPromptIsIgnored() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > fail A #1
            stop prompt#1
            start-agent
            timer agentWait 10000
            moved 1 queued 0
            > agent B desktop
            stop agentWait
            show B #2 1 camera waiting=0
            timer prompt#2 300000
            moved 1 showing 0
            > timer prompt #1
            """)
    }
}
