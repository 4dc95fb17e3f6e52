// The dismissal throttle: "Not now", and apps that keep asking after it.

import Testing

@Suite
struct QueueThrottleTests {
    @Test func aDismissalAppliesToAllWaitingRequestsOfTheApp() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 b camera
            queued 1
            > request 3 a camera
            queued 2
            > request 4 a camera,microphone
            queued 3
            > request 5 a@z camera
            queued 4
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person,a:camera=dismissed/person,a:camera=dismissed/person,a:camera=dismissed/person
            respond 1 dismissed camera=undetermined refused=camera
            respond 3 dismissed camera=undetermined refused=camera
            respond 5 dismissed camera=undetermined refused=camera
            show A #2 2 camera waiting=1
            timer prompt#2 300000
            moved 2 showing 0
            moved 4 queued 1
            length 2
            > request 6 a camera
            queued 2
            """)
    }

    /// The response code is 0 if another permission of the request was decided.
    @Test func aDismissalIsNoDecision() {
        QueueScript.play(
            """
            > agent A desktop
            = a location granted
            > request 1 a location,camera
            shown A #1 camera
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            respond 1 answered camera=undetermined,location=granted refused=camera
            record a:location=granted
            length 0
            """)
    }

    @Test func anUnavailablePermissionIsNoDecision() {
        QueueScript.play(
            """
            > agent A desktop
            = a location unavailable
            > request 1 a location,camera
            shown A #1 camera
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            respond 1 dismissed camera=undetermined,location=unavailable refused=location
            record a:location=unavailable
            length 0
            """)
    }

    /// During the pause requests are dismissed by the guard without a prompt; afterwards the person is asked again.
    @Test func threeDismissalsInARowStartAPause() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            respond 1 dismissed camera=undetermined refused=camera
            length 0
            > request 2 a camera
            shown A #2 camera
            > answer A #2 dismissed
            stop prompt#2
            nag a camera 2
            record a:camera=dismissed/person
            respond 2 dismissed camera=undetermined refused=camera
            length 0
            > request 3 a camera
            shown A #3 camera pause=600
            > answer A #3 dismissed
            stop prompt#3
            nag a camera 3 until=1600
            record a:camera=dismissed/person
            respond 3 dismissed camera=undetermined refused=camera retry=600
            length 0
            > request 4 a camera
            record a:camera=dismissed/throttle
            accept 4
            respond 4 dismissed camera=undetermined refused=camera retry=600
            > request 5 a camera,microphone
            record a:camera=dismissed/throttle
            shown A #4 microphone
            > request 6 b camera
            queued 1
            + 599
            > request 7 a camera
            record a:camera=dismissed/throttle
            accept 7
            respond 7 dismissed camera=undetermined refused=camera retry=1
            + 1
            > request 8 a camera
            queued 2
            """)
    }

    @Test func aGrantOrDenialResetsTheCount() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            respond 1 dismissed camera=undetermined refused=camera
            length 0
            > request 2 a camera
            shown A #2 camera
            > answer A #2 dismissed
            stop prompt#2
            nag a camera 2
            record a:camera=dismissed/person
            respond 2 dismissed camera=undetermined refused=camera
            length 0
            > request 3 a camera
            shown A #3 camera pause=600
            > answer A #3 camera=deny/once
            stop prompt#3
            nag a camera 0
            commit 3 camera=deny/once!; a:camera=denied/person
            > committed 3
            respond 3 answered camera=denied refused=camera
            length 0
            = a camera undetermined
            > request 4 a camera
            shown A #4 camera
            > answer A #4 dismissed
            stop prompt#4
            nag a camera 1
            record a:camera=dismissed/person
            respond 4 dismissed camera=undetermined refused=camera
            length 0
            """)
    }

    @Test func aTimeoutDoesNotCountAsADismissal() {
        QueueScript.play(
            """
            > settings nagLimit=1
            > agent A desktop
            > request 1 a camera
            shown A #1 camera pause=600
            > timer prompt #1
            withdraw A #1
            record a:camera=dismissed/timeout
            respond 1 dismissed camera=undetermined refused=camera
            length 0
            > request 2 a camera
            shown A #2 camera pause=600
            """)
    }

    @Test func dismissalsAreCountedPerAppAndPermission() {
        QueueScript.play(
            """
            > settings nagLimit=1 nagPause=10
            > agent A desktop
            > request 1 a camera,microphone
            shown A #1 camera,microphone pause=10
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1 until=1010
            nag a microphone 1 until=1010
            record a:camera=dismissed/person,a:microphone=dismissed/person
            respond 1 dismissed camera=undetermined,microphone=undetermined refused=camera retry=10
            length 0
            > request 2 a location,camera
            record a:camera=dismissed/throttle
            accept 2
            moved 2 queued 0
            show A #2 2 location waiting=0 pause=10
            timer prompt#2 300000
            moved 2 showing 0
            length 1
            > request 3 b camera
            queued 1
            """)
    }

    /// A reset covers one permission, one app, or everything.
    @Test func liftedByAReset() {
        QueueScript.play(
            """
            > settings nagLimit=1
            > agent A desktop
            > request 1 a camera,microphone
            shown A #1 camera,microphone pause=600
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1 until=1600
            nag a microphone 1 until=1600
            record a:camera=dismissed/person,a:microphone=dismissed/person
            respond 1 dismissed camera=undetermined,microphone=undetermined refused=camera retry=600
            length 0
            > lift a camera
            > request 2 a camera,microphone
            record a:microphone=dismissed/throttle
            accept 2
            moved 2 queued 0
            show A #2 2 camera waiting=0 pause=600
            timer prompt#2 300000
            moved 2 showing 0
            length 1
            > lift b *
            > request 3 a microphone
            record a:microphone=dismissed/throttle
            accept 3
            respond 3 dismissed microphone=undetermined refused=microphone retry=600
            > lift * *
            > request 4 a microphone
            queued 1
            """)
    }

    @Test func countsSurviveARestart() {
        QueueScript.play(
            """
            > restored a camera 2
            > restored b camera 3 1600
            > agent A desktop
            > request 1 b camera
            record b:camera=dismissed/throttle
            accept 1
            respond 1 dismissed camera=undetermined refused=camera retry=600
            > request 2 a camera
            shown A #1 camera pause=600
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 3 until=1600
            record a:camera=dismissed/person
            respond 2 dismissed camera=undetermined refused=camera retry=600
            length 0
            > request 3 a camera
            record a:camera=dismissed/throttle
            accept 3
            respond 3 dismissed camera=undetermined refused=camera retry=600
            """)
    }

    @Test func theCountStartsAnewAfterAPause() {
        QueueScript.play(
            """
            > settings nagLimit=2 nagPause=10
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            respond 1 dismissed camera=undetermined refused=camera
            length 0
            > request 2 a camera
            shown A #2 camera pause=10
            > answer A #2 dismissed
            stop prompt#2
            nag a camera 2 until=1010
            record a:camera=dismissed/person
            respond 2 dismissed camera=undetermined refused=camera retry=10
            length 0
            + 10
            > request 3 a camera
            shown A #3 camera
            > answer A #3 dismissed
            stop prompt#3
            nag a camera 1
            record a:camera=dismissed/person
            respond 3 dismissed camera=undetermined refused=camera
            length 0
            > request 4 a camera
            shown A #4 camera pause=10
            """)
    }

    /// A pause is over after its time, also if the clock is set back meanwhile.
    @Test func theClockGoesBackDuringAPause() {
        QueueScript.play(
            """
            > settings nagLimit=1 nagPause=10
            > agent A desktop
            > request 1 a camera
            shown A #1 camera pause=10
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1 until=1010
            record a:camera=dismissed/person
            respond 1 dismissed camera=undetermined refused=camera retry=10
            length 0
            ~ -100000
            + 10
            > request 2 a camera
            shown A #2 camera pause=10
            """)
    }
}
