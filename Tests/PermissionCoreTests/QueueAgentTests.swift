// Which agent shows a prompt, and what happens when no agent does.

import Testing

@Suite
struct QueueAgentTests {
    /// Among agents of the same level, the newest shows it.
    @Test func theAgentOfTheHighestLevelShowsThePrompt() {
        QueueScript.play(
            """
            > agent F fallback
            > agent D desktop
            > agent T terminal
            > agent E desktop
            > agent S system
            > request 1 a camera
            shown S #1 camera
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

    /// An agent of a higher level that registers meanwhile gets the next prompt.
    @Test func aPromptStaysWithItsAgent() {
        QueueScript.play(
            """
            > agent T terminal
            > request 1 a camera
            shown T #1 camera
            > request 2 b camera
            queued 1
            > agent S system
            > answer T #1 camera=grant/always
            stop prompt#1
            commit 1 camera=grant/always; a:camera=granted/person
            > committed 1
            respond 1 answered camera=granted
            show S #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            length 1
            """)
    }

    /// The agent's object counts as newly registered at its new level.
    @Test func registeringAgainChangesTheLevel() {
        QueueScript.play(
            """
            > agent A system
            > agent B desktop
            > agent A terminal
            > request 1 a camera
            shown B #1 camera
            """)
    }

    /// The agent service is started, one wait covers all requests, and then all of them fail.
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
            queued 1
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

    /// It shows the first request in the queue.
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
            queued 1
            > agent A terminal
            stop agentWait
            show A #1 1 camera waiting=1
            timer prompt#1 300000
            moved 1 showing 0
            > timer agentWait
            """)
    }

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
            > facts
            respond 2 answered camera=denied refused=camera
            record a:camera=denied
            stop agentWait
            length 0
            """)
    }

    @Test func theWaitStartsWhenTheLastAgentLeaves() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
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

    /// Each agent is offered a prompt once; when all have failed, the queue waits for a new agent.
    @Test func failuresGoToTheNextAgent() {
        QueueScript.play(
            """
            > agent A desktop
            > agent B terminal
            > request 1 a camera
            shown A #1 camera
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
            > committed 1
            respond 1 answered camera=granted
            length 0
            """)
    }

    /// An answer in between resets the count.
    @Test func threeFailuresInARowUnregisterTheAgent() {
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
            shown A #3 camera
            > answer A #3 dismissed
            stop prompt#3
            nag a camera 1
            record a:camera=dismissed/person
            respond 2 dismissed camera=undetermined refused=camera
            length 0
            > request 3 b camera
            shown A #4 camera
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
            shown A #5 camera
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
            shown A #6 camera
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

    /// The prompt moves to the next agent.
    @Test func leavingAndUnregisteringAreNoFailures() {
        QueueScript.play(
            """
            > agent A fallback
            > agent B desktop
            > agent C system
            > request 1 a camera
            shown C #1 camera
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

    @Test func anAgentThatIsBackShowsThePromptAgain() {
        QueueScript.play(
            """
            > agent A system
            > request 1 a camera
            shown A #1 camera
            > unregister A
            withdraw A #1
            stop prompt#1
            start-agent
            timer agentWait 10000
            moved 1 queued 0
            > agent A system
            stop agentWait
            show A #2 1 camera waiting=0
            timer prompt#2 300000
            moved 1 showing 0
            """)
    }
}
