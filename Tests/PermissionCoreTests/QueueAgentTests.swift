// Who shows a prompt, and what happens when nobody does.

import Testing

@Suite
struct QueueAgentTests {
    /// By level; within a level the newest.
    @Test func theHighestLevelShowsIt() {
        QueueScript.play(
            """
            > agent F fallback
            > agent D desktop
            > agent T terminal
            > agent E desktop
            > agent S system
            > request 1 a camera
            accept 1
            moved 1 queued 0
            show S #1 1 camera waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
            > unregister S
            withdraw S #1
            stop prompt#1
            show E #2 1 camera waiting=0
            timer prompt#2 300000
            > unregister E
            withdraw E #2
            stop prompt#2
            show D #3 1 camera waiting=0
            timer prompt#3 300000
            > agent-left D
            drop #3
            stop prompt#3
            show T #4 1 camera waiting=0
            timer prompt#4 300000
            > unregister T
            withdraw T #4
            stop prompt#4
            show F #5 1 camera waiting=0
            timer prompt#5 300000
            > unregister F
            withdraw F #5
            stop prompt#5
            start-agent
            timer agentWait 10000
            moved 1 queued 0
            """)
    }

    /// A better agent gets the next one.
    @Test func aPromptStaysWhereItIs() {
        QueueScript.play(
            """
            > agent T terminal
            > request 1 a camera
            accept 1
            moved 1 queued 0
            show T #1 1 camera waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
            > request 2 b camera
            accept 2
            moved 2 queued 1
            length 2
            > agent S system
            > answer T #1 camera=grant/always
            stop prompt#1
            commit 1 camera=grant/always; a:camera=granted/person
            = a camera granted
            > committed 1
            respond 1 answered camera=granted
            show S #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            length 1
            """)
    }

    /// The same object counts as new at its new level.
    @Test func registeringAgainChangesTheLevel() {
        QueueScript.play(
            """
            > agent A system
            > agent B desktop
            > agent A terminal
            > request 1 a camera
            accept 1
            moved 1 queued 0
            show B #1 1 camera waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
            """)
    }

    /// The service is started, the wait counted once for everybody, then all fail.
    @Test func withoutAnAgentTheQueueWaitsOnce() {
        QueueScript.play(
            """
            > request 1 a camera
            accept 1
            moved 1 queued 0
            start-agent
            timer agentWait 10000
            length 1
            + 5
            > request 2 b microphone
            accept 2
            moved 2 queued 1
            length 2
            = c camera granted
            > request 3 c camera
            accept 3
            respond 3 answered camera=granted
            record c:camera=granted
            + 5
            > timer agentWait
            respond 1 NoAgent camera=undetermined refused=camera
            record a:camera=failed
            respond 2 NoAgent microphone=undetermined refused=microphone
            record b:microphone=failed
            length 0
            > request 4 a camera
            accept 4
            moved 4 queued 0
            start-agent
            timer agentWait 10000
            length 1
            """)
    }

    /// The first in the queue is shown to it.
    @Test func anAgentThatComesInTimeEndsTheWait() {
        QueueScript.play(
            """
            > request 1 a camera
            accept 1
            moved 1 queued 0
            start-agent
            timer agentWait 10000
            length 1
            > request 2 b camera
            accept 2
            moved 2 queued 1
            length 2
            > agent A terminal
            stop agentWait
            show A #1 1 camera waiting=1
            timer prompt#1 300000
            moved 1 showing 0
            > timer agentWait
            """)
    }

    /// Nobody to wait for.
    @Test func theWaitEndsWithTheLastRequest() {
        QueueScript.play(
            """
            > request 1 a camera
            accept 1
            moved 1 queued 0
            start-agent
            timer agentWait 10000
            length 1
            > close 1
            forget 1
            record a:camera=withdrawn
            stop agentWait
            length 0
            > request 2 a camera
            accept 2
            moved 2 queued 0
            start-agent
            timer agentWait 10000
            length 1
            = a camera denied
            > world
            respond 2 answered camera=denied refused=camera
            record a:camera=denied
            stop agentWait
            length 0
            """)
    }

    /// As if there were none.
    @Test func theLastAgentThatLeavesStartsTheWait() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            accept 1
            moved 1 queued 0
            show A #1 1 camera waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
            > agent-left A
            drop #1
            stop prompt#1
            start-agent
            timer agentWait 10000
            moved 1 queued 0
            > timer prompt #1
            > agent A desktop
            > timer agentWait
            respond 1 NoAgent camera=undetermined refused=camera
            record a:camera=failed
            length 0
            """)
    }

    /// Each agent is offered a prompt once; when all failed, a new one is waited for.
    @Test func failuresGoToTheNextAgent() {
        QueueScript.play(
            """
            > agent A desktop
            > agent B terminal
            > request 1 a camera
            accept 1
            moved 1 queued 0
            show A #1 1 camera waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
            > fail A #1
            stop prompt#1
            show B #2 1 camera waiting=0
            timer prompt#2 300000
            > fail B #2
            stop prompt#2
            start-agent
            timer agentWait 10000
            moved 1 queued 0
            > agent A desktop
            > agent C fallback
            stop agentWait
            show C #3 1 camera waiting=0
            timer prompt#3 300000
            moved 1 showing 0
            > answer C #3 camera=grant/once
            stop prompt#3
            commit 1 camera=grant/once!; a:camera=granted/person
            = a camera granted
            > committed 1
            respond 1 answered camera=granted
            length 0
            """)
    }

    /// Unregister the agent; an answer in between starts the count anew.
    @Test func threeFailuresInARow() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            accept 1
            moved 1 queued 0
            show A #1 1 camera waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
            > fail A #1
            stop prompt#1
            start-agent
            timer agentWait 10000
            moved 1 queued 0
            > agent B system
            stop agentWait
            show B #2 1 camera waiting=0
            timer prompt#2 300000
            moved 1 showing 0
            > unregister B
            withdraw B #2
            stop prompt#2
            start-agent
            timer agentWait 10000
            moved 1 queued 0
            > close 1
            forget 1
            record a:camera=withdrawn
            stop agentWait
            length 0
            > request 2 a camera
            accept 2
            moved 2 queued 0
            show A #3 2 camera waiting=0
            timer prompt#3 300000
            moved 2 showing 0
            length 1
            > answer A #3 dismissed
            stop prompt#3
            nag a camera 1
            record a:camera=dismissed/person
            respond 2 dismissed camera=undetermined refused=camera
            length 0
            > request 3 b camera
            accept 3
            moved 3 queued 0
            show A #4 3 camera waiting=0
            timer prompt#4 300000
            moved 3 showing 0
            length 1
            > fail A #4
            stop prompt#4
            start-agent
            timer agentWait 10000
            moved 3 queued 0
            > close 3
            forget 3
            record b:camera=withdrawn
            stop agentWait
            length 0
            > request 4 b camera
            accept 4
            moved 4 queued 0
            show A #5 4 camera waiting=0
            timer prompt#5 300000
            moved 4 showing 0
            length 1
            > fail A #5
            stop prompt#5
            start-agent
            timer agentWait 10000
            moved 4 queued 0
            > close 4
            forget 4
            record b:camera=withdrawn
            stop agentWait
            length 0
            > request 5 b camera
            accept 5
            moved 5 queued 0
            show A #6 5 camera waiting=0
            timer prompt#6 300000
            moved 5 showing 0
            length 1
            > fail A #6
            stop prompt#6
            unregister A
            start-agent
            timer agentWait 10000
            moved 5 queued 0
            > agent C fallback
            stop agentWait
            show C #7 5 camera waiting=0
            timer prompt#7 300000
            moved 5 showing 0
            """)
    }

    /// The prompt goes on to the next agent.
    @Test func leavingAndUnregisteringAreNoFailures() {
        QueueScript.play(
            """
            > agent A fallback
            > agent B desktop
            > agent C system
            > request 1 a camera
            accept 1
            moved 1 queued 0
            show C #1 1 camera waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
            > unregister C
            withdraw C #1
            stop prompt#1
            show B #2 1 camera waiting=0
            timer prompt#2 300000
            > agent-left B
            drop #2
            stop prompt#2
            show A #3 1 camera waiting=0
            timer prompt#3 300000
            > unregister Z
            """)
    }

    /// Anybody else's word, for any other prompt, is nothing.
    @Test func onlyTheAskedAgentAnswersTheOpenPrompt() {
        QueueScript.play(
            """
            > agent A desktop
            > agent B terminal
            > request 1 a camera
            accept 1
            moved 1 queued 0
            show A #1 1 camera waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
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
            accept 1
            moved 1 queued 0
            show A #1 1 camera,microphone waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
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
            accept 1
            moved 1 queued 0
            show A #1 1 camera,microphone waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
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
            accept 1
            moved 1 queued 0
            show A #1 1 camera waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
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
            accept 1
            moved 1 queued 0
            show A #1 1 camera,microphone waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
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
            accept 1
            moved 1 queued 0
            show A #1 1 camera,microphone waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
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
            accept 2
            moved 2 queued 1
            length 2
            > request 3 b camera
            accept 3
            moved 3 queued 2
            length 3
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
            accept 1
            moved 1 queued 0
            show A #1 1 camera waiting=0
            timer prompt#1 300000
            moved 1 showing 0
            length 1
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
