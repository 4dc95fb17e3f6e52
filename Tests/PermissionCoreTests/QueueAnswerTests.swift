// What counts as an answer, and what comes of one that does not.

import Testing

@Suite
struct QueueAnswerTests {
    /// Anybody else's word, for any other prompt, is nothing.
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

    /// And what was left out stays undecided: dismissed by the person, counted by nobody.
    @Test func whatWasNotAskedIsIgnored() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera,microphone
            shown A #1 camera,microphone
            > answer A #1 camera=grant/always,location=grant/always
            stop prompt#1
            commit 1 camera=grant/always; a:camera=granted/person,a:microphone=dismissed/person
            = a camera granted
            > committed 1
            respond 1 answered camera=granted,microphone=undetermined refused=microphone
            length 0
            """)
    }

    /// Everything left out: the request is over, dismissed.
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

    /// The same as an empty answer.
    @Test func onlyForeignItems() {
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

    /// Nothing of it is stored, not even its good half.
    @Test func anUntilThatIsOverIsNoAnswer() {
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
            = a camera granted
            = a microphone granted
            > committed 1
            respond 1 answered camera=granted,microphone=granted
            length 0
            """)
    }

    /// A decision of duration once carries the asking process.
    @Test func onceBelongsToTheProcess() {
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

    /// After the time the prompt is withdrawn: dismissed, but by no person.
    @Test func nobodyAnswers() {
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

    /// Says nothing about the next one.
    @Test func aTimerOfAnOldPrompt() {
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
