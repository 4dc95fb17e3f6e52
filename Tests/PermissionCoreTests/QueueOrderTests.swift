// The queue is first in, first out, with one prompt on screen and one slot for each request.

import Testing

@Suite
struct QueueOrderTests {
    /// Three apps ask; each prompt is shown after the previous one has been answered.
    @Test func oneAfterTheOther() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 b microphone
            queued 1
            > request 3 c location
            queued 2
            > answer A #1 camera=grant/always
            stop prompt#1
            commit 1 camera=grant/always; a:camera=granted/person
            > committed 1
            respond 1 answered camera=granted
            show A #2 2 microphone waiting=1
            timer prompt#2 300000
            moved 2 showing 0
            moved 3 queued 1
            length 2
            > answer A #2 microphone=deny/always
            stop prompt#2
            commit 2 microphone=deny/always; b:microphone=denied/person
            > committed 2
            respond 2 answered microphone=denied refused=microphone
            show A #3 3 location waiting=0
            timer prompt#3 300000
            moved 3 showing 0
            length 1
            > answer A #3 location=grant/session
            stop prompt#3
            commit 3 location=grant/session; c:location=granted/person
            > committed 3
            respond 3 answered location=granted
            length 0
            """)
    }

    /// Several permissions share one slot and one prompt, in the requested order.
    @Test func aRequestForSeveralPermissionsIsOnePrompt() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a microphone,camera,location
            shown A #1 microphone,camera,location
            > request 2 b camera
            queued 1
            > answer A #1 camera=deny/always,microphone=grant/once,location=grant/once
            stop prompt#1
            commit 1 microphone=grant/once!,camera=deny/always,location=grant/once!; a:microphone=granted/person,a:camera=denied/person,a:location=granted/person
            > committed 1
            respond 1 answered camera=denied,location=granted,microphone=granted refused=camera
            show A #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            length 1
            """)
    }

    @Test func requestsThatNeedNoPromptDoNotWait() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            = b camera granted
            = b microphone restricted
            = b location unavailable
            > request 2 b camera
            accept 2
            respond 2 answered camera=granted
            record b:camera=granted
            > request 3 b camera,microphone,location
            accept 3
            respond 3 answered camera=granted,location=unavailable,microphone=restricted refused=microphone
            record b:camera=granted,b:microphone=restricted/administrator,b:location=unavailable
            """)
    }

    /// A prompt stays while its device is away for a moment, and ends when it stays away.
    @Test func aDeviceThatGoes() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            = a camera unavailable
            = missed camera
            > facts
            = over camera
            > facts
            withdraw A #1
            stop prompt#1
            respond 1 answered camera=unavailable refused=camera
            record a:camera=unavailable
            length 0
            """)
    }

    /// Restricted, denied and unavailable need no prompt.
    @Test func theFirstRefusedIsTheFirstInTheRequestedOrder() {
        QueueScript.play(
            """
            = a camera unavailable
            = a microphone denied
            = a location granted
            > request 1 a location,camera,microphone
            accept 1
            respond 1 answered camera=unavailable,location=granted,microphone=denied refused=camera
            record a:location=granted,a:camera=unavailable,a:microphone=denied
            """)
    }

    @Test func onlyUndeterminedPermissionsAreAsked() {
        QueueScript.play(
            """
            > agent A desktop
            = a microphone granted
            = a location unavailable
            > request 1 a camera,microphone,location
            shown A #1 camera
            """)
    }

    /// They are answered from the current statuses.
    @Test func requestsThatAreNotInteractiveShowNoPrompt() {
        QueueScript.play(
            """
            > agent A desktop
            = a camera granted
            > request 1 a camera,microphone quiet
            accept 1
            respond 1 answered camera=granted,microphone=undetermined refused=microphone
            record a:camera=granted
            > request 2 a microphone quiet
            accept 2
            respond 2 answered microphone=undetermined refused=microphone
            > request 3 b microphone
            shown A #1 microphone
            > request 4 a microphone quiet
            accept 4
            respond 4 answered microphone=undetermined refused=microphone
            """)
    }

    /// The decision on the first request answers the second.
    @Test func twoRequestsOfOneAppAskOnce() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 a camera
            queued 1
            > request 3 b camera
            queued 2
            > answer A #1 camera=grant/always
            stop prompt#1
            commit 1 camera=grant/always; a:camera=granted/person
            > committed 1
            respond 2 answered camera=granted
            record a:camera=granted
            moved 3 queued 1
            length 2
            respond 1 answered camera=granted
            show A #2 3 camera waiting=0
            timer prompt#2 300000
            moved 3 showing 0
            length 1
            """)
    }

    /// A waiting request that asks for more keeps the permissions that are still undetermined.
    @Test func theRemainingPermissionsAreStillAsked() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 a camera,microphone
            queued 1
            > answer A #1 camera=deny/session
            stop prompt#1
            commit 1 camera=deny/session; a:camera=denied/person
            > committed 1
            respond 1 answered camera=denied refused=camera
            show A #2 2 microphone waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            length 1
            """)
    }

    /// permctl decides while requests wait: the prompt is withdrawn and the requests are answered.
    @Test func decisionsMadeElsewhereAnswerWaitingRequests() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 b camera
            queued 1
            > request 3 b microphone
            queued 2
            = a camera denied
            = b microphone granted
            > facts
            withdraw A #1
            stop prompt#1
            respond 1 answered camera=denied refused=camera
            record a:camera=denied
            respond 3 answered microphone=granted
            record b:microphone=granted
            show A #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            length 1
            > answer A #1 camera=grant/always
            """)
    }

    /// One permission is decided elsewhere; the answer counts only for the other.
    @Test func aPromptStaysWhileAPermissionIsUndetermined() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera,microphone
            shown A #1 camera,microphone
            = a camera denied
            > facts
            > answer A #1 camera=grant/always,microphone=grant/always
            stop prompt#1
            commit 1 microphone=grant/always; a:microphone=granted/person
            > committed 1
            respond 1 answered camera=denied,microphone=granted refused=camera
            record a:camera=denied
            length 0
            """)
    }

    /// Once the device is plugged in again, the permission is asked again.
    @Test func aPromptIsWithdrawnWhenItsDeviceIsUnplugged() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            = a camera unavailable
            > facts
            withdraw A #1
            stop prompt#1
            respond 1 answered camera=unavailable refused=camera
            record a:camera=unavailable
            length 0
            = a camera undetermined
            > facts
            > request 2 a camera
            shown A #2 camera
            """)
    }

    /// Until the answer is on disk the next prompt waits, even if the facts change.
    @Test func nothingMovesWhileAnAnswerIsWritten() {
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
            > facts
            > timer prompt #1
            > answer A #1 camera=deny/always
            > fail A #1
            > committed 1
            respond 1 answered camera=granted
            show A #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            length 1
            """)
    }

    /// The permission is undetermined, and the request ends all the same.
    @Test func aDecisionThatEndsBeforeItsResponseIsNotAskedAgain() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > answer A #1 camera=grant/once
            stop prompt#1
            commit 1 camera=grant/once!; a:camera=granted/person
            > committed 1 over
            respond 1 dismissed camera=undetermined refused=camera
            length 0
            """)
    }
}
