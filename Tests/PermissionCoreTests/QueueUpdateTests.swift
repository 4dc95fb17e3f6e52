// What an agent is told of the requests behind its prompt.

import PermissionModel
import Testing

@testable import PermissionCore

@Suite struct QueueUpdateTests {
    @Test func everyChangeBehindThePrompt() {
        QueueScript.play(
            """
            > agent A desktop updates
            > request 1 a camera
            shown A #1 camera
            > request 2 b camera
            accept 2
            moved 2 queued 1
            update A #1 waiting=1 next=b
            length 2
            > request 3 c camera
            accept 3
            moved 3 queued 2
            update A #1 waiting=2 next=b,c
            length 3
            > request 4 b microphone
            accept 4
            moved 4 queued 3
            update A #1 waiting=3 next=b,c
            length 4
            > close 2
            forget 2
            record b:camera=withdrawn
            update A #1 waiting=2 next=c,b
            moved 3 queued 1
            moved 4 queued 2
            length 3
            """)
    }

    /// The prompt names a device of each permission, which may be another one now.
    @Test func devicesOfThePrompt() {
        QueueScript.play(
            """
            > agent A desktop updates
            > request 1 a camera
            shown A #1 camera
            > devices microphone
            > devices camera
            update A #1 waiting=0
            > devices camera
            update A #1 waiting=0
            """)
    }

    @Test func atMostFiveApps() {
        QueueScript.play(
            """
            > agent A desktop updates
            > request 1 a camera
            shown A #1 camera
            \(["b", "c", "d", "e", "f"].enumerated().map { index, app in
                let names = ["b", "c", "d", "e", "f"].prefix(index + 1).joined(separator: ",")
                return """
                    > request \(index + 2) \(app) camera
                    accept \(index + 2)
                    moved \(index + 2) queued \(index + 1)
                    update A #1 waiting=\(index + 1) next=\(names)
                    length \(index + 2)
                    """
            }.joined(separator: "\n"))
            > request 7 g camera
            accept 7
            moved 7 queued 6
            update A #1 waiting=6 next=b,c,d,e,f
            length 7
            """)
    }

    /// The next prompt says itself what is behind it.
    @Test func notWithANewPromptOrToOtherAgents() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 b camera
            queued 1
            > agent B system updates
            > request 3 c camera
            queued 2
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            respond 1 dismissed camera=undetermined refused=camera
            show B #2 2 camera waiting=1
            timer prompt#2 300000
            moved 2 showing 0
            moved 3 queued 1
            length 2
            """)
    }
}
