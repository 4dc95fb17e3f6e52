// Prompts that run out, or that the app withdraws before anybody has answered: the app waits after some of them.

import Testing

@Suite
struct QueueUnansweredTests {
    /// Everything the app can ask is dismissed unseen then, what it has waiting included; others are not affected.
    @Test func threePromptsThatRunOutInARowPauseTheApp() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > timer prompt #1
            withdraw A #1
            record a:camera=dismissed/timeout
            respond 1 dismissed camera=undetermined refused=camera
            length 0
            > request 2 a camera
            shown A #2 camera
            > timer prompt #2
            withdraw A #2
            record a:camera=dismissed/timeout
            respond 2 dismissed camera=undetermined refused=camera
            length 0
            > request 3 a microphone
            shown A #3 microphone
            > request 4 a location
            queued 1
            > request 5 b camera
            queued 2
            > timer prompt #3
            withdraw A #3
            record a:microphone=dismissed/timeout
            paused a 1600
            record a:location=dismissed/throttle
            respond 3 dismissed microphone=undetermined refused=microphone retry=600
            respond 4 dismissed location=undetermined refused=location retry=600
            show A #4 5 camera waiting=0
            timer prompt#4 300000
            moved 5 showing 0
            length 1
            + 599
            > request 6 a bluetooth
            record a:bluetooth=dismissed/throttle
            accept 6
            respond 6 dismissed bluetooth=undetermined refused=bluetooth retry=1
            + 1
            > request 7 a bluetooth
            queued 1
            """)
    }

    @Test(arguments: ["dismissed", "camera=deny/once"]) func anAnswerEndsTheRowOfPromptsThatRunOut(_ answer: String) {
        let isDismissed = answer == "dismissed"
        let answered =
            isDismissed
            ? "nag a camera 1\nrecord a:camera=dismissed/person"
            : "commit 3 camera=deny/once!; a:camera=denied/person\n> committed 3 over"
        QueueScript.play(
            """
            > settings promptTimeout=10
            > agent A desktop
            > request 1 a camera
            asked A #1 1 camera
            > timer prompt #1
            withdraw A #1
            record a:camera=dismissed/timeout
            respond 1 dismissed camera=undetermined refused=camera
            length 0
            > request 2 a camera
            asked A #2 2 camera
            > timer prompt #2
            withdraw A #2
            record a:camera=dismissed/timeout
            respond 2 dismissed camera=undetermined refused=camera
            length 0
            > request 3 a camera
            asked A #3 3 camera
            > answer A #3 \(answer)
            stop prompt#3
            \(answered)
            respond 3 dismissed camera=undetermined refused=camera
            length 0
            > request 4 a camera
            asked A #4 4 camera
            > timer prompt #4
            withdraw A #4
            record a:camera=dismissed/timeout
            respond 4 dismissed camera=undetermined refused=camera
            length 0
            > request 5 a camera
            asked A #5 5 camera
            """)
    }

    /// An app that withdraws its prompts shortly before they run out keeps the screen as well.
    @Test func timeInWithdrawnPromptsCounts() {
        let rounds = (1...3).map { number in
            """
            > request \(number) a camera
            asked A #\(number) \(number) camera
            + 9
            > close \(number)
            forget \(number)
            timer withdrawal\(number) 2000
            length 0
            > timer withdrawal \(number)
            withdraw A #\(number)
            stop prompt#\(number)
            record a:camera=withdrawn
            """
        }
        QueueScript.play(
            """
            > settings promptTimeout=10
            > agent A desktop
            \(rounds.joined(separator: "\n"))
            > request 4 a camera
            asked A #4 4 camera
            + 3
            > left a
            forget 4
            timer withdrawal4 2000
            length 0
            > timer withdrawal 4
            withdraw A #4
            stop prompt#4
            record a:camera=withdrawn
            paused a 1630
            > request 5 a camera
            record a:camera=dismissed/throttle
            accept 5
            respond 5 dismissed camera=undetermined refused=camera retry=600
            > lift a *
            > request 6 a camera
            asked A #5 6 camera
            """)
    }
}
