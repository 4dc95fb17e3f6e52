// Holds: a place kept for the next request of the same connection.

import Testing

@Suite
struct QueueReservationTests {
    /// No other request comes in between, whatever the answer was.
    @Test func theNextRequestGoesFirst() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera hold=15
            shown A #1 camera
            > request 2 b camera
            queued 1
            > answer A #1 camera=deny/always
            stop prompt#1
            commit 1 camera=deny/always; a:camera=denied/person
            > committed 1
            timer reservation:a 15000
            respond 1 answered camera=denied refused=camera hold=15
            moved 2 queued 0
            length 1
            + 5
            > request 3 a microphone
            accept 3
            stop reservation:a
            show A #2 3 microphone waiting=1
            timer prompt#2 300000
            moved 3 showing 0
            moved 2 queued 1
            length 2
            > answer A #2 microphone=grant/always
            stop prompt#2
            commit 3 microphone=grant/always; a:microphone=granted/person
            > committed 3
            respond 3 answered microphone=granted
            show A #3 2 camera waiting=0
            timer prompt#3 300000
            moved 2 showing 0
            length 1
            """)
    }

    /// When its time is up, the next request in the queue is shown.
    @Test func aHoldEnds() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera hold=3
            shown A #1 camera
            > request 2 b camera
            queued 1
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            timer reservation:a 3000
            respond 1 dismissed camera=undetermined refused=camera hold=3
            moved 2 queued 0
            length 1
            + 3
            > timer reservation a
            show A #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            """)
    }

    @Test func anotherConnectionOfTheAppCannotUseTheHold() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a@x camera hold=15
            shown A #1 camera
            > request 2 b camera
            queued 1
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            timer reservation:x 15000
            respond 1 dismissed camera=undetermined refused=camera hold=15
            moved 2 queued 0
            length 1
            > request 3 a@y microphone
            queued 1
            > request 4 a@x microphone
            accept 4
            stop reservation:x
            show A #2 4 microphone waiting=2
            timer prompt#2 300000
            moved 4 showing 0
            moved 2 queued 1
            moved 3 queued 2
            length 3
            """)
    }

    /// Only the connection that has the hold can release it.
    @Test func releasedEarly() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera hold=15
            shown A #1 camera
            > request 2 b camera
            queued 1
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            timer reservation:a 15000
            respond 1 dismissed camera=undetermined refused=camera hold=15
            moved 2 queued 0
            length 1
            > release b
            > release a
            stop reservation:a
            show A #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            > release a
            """)
    }

    @Test func endsWhenTheConnectionLeaves() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera hold=15
            shown A #1 camera
            > request 2 b camera
            queued 1
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            timer reservation:a 15000
            respond 1 dismissed camera=undetermined refused=camera hold=15
            moved 2 queued 0
            length 1
            > left a
            stop reservation:a
            show A #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            """)
    }

    /// A second hold is given only a minute after the first.
    @Test func oneHoldPerMinuteForAnApp() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera hold=15
            shown A #1 camera
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            timer reservation:a 15000
            respond 1 dismissed camera=undetermined refused=camera hold=15
            length 0
            > release a
            stop reservation:a
            + 59
            > request 2 a microphone hold=15
            shown A #2 microphone
            > answer A #2 dismissed
            stop prompt#2
            nag a microphone 1
            record a:microphone=dismissed/person
            respond 2 dismissed microphone=undetermined refused=microphone
            length 0
            + 1
            > request 3 a location hold=15
            shown A #3 location
            > answer A #3 dismissed
            stop prompt#3
            nag a location 1
            record a:location=dismissed/person
            timer reservation:a 15000
            respond 3 dismissed location=undetermined refused=location hold=15
            length 0
            """)
    }

    /// The requests of a chain share one budget of idle time.
    @Test func aChainOfRequestsIsOneHold() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera hold=10
            shown A #1 camera
            > request 2 b camera
            queued 1
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            timer reservation:a 10000
            respond 1 dismissed camera=undetermined refused=camera hold=10
            moved 2 queued 0
            length 1
            + 4
            > request 3 a microphone hold=10
            accept 3
            stop reservation:a
            show A #2 3 microphone waiting=1
            timer prompt#2 300000
            moved 3 showing 0
            moved 2 queued 1
            length 2
            + 100
            > answer A #2 dismissed
            stop prompt#2
            nag a microphone 1
            record a:microphone=dismissed/person
            timer reservation:a 6000
            respond 3 dismissed microphone=undetermined refused=microphone hold=6
            moved 2 queued 0
            length 1
            + 5
            > request 4 a location hold=10
            accept 4
            stop reservation:a
            show A #3 4 location waiting=1
            timer prompt#3 300000
            moved 4 showing 0
            moved 2 queued 1
            length 2
            > answer A #3 dismissed
            stop prompt#3
            nag a location 1
            record a:location=dismissed/person
            timer reservation:a 1000
            respond 4 dismissed location=undetermined refused=location hold=1
            moved 2 queued 0
            length 1
            + 1
            > timer reservation a
            show A #4 2 camera waiting=0
            timer prompt#4 300000
            moved 2 showing 0
            """)
    }

    /// A request that needs no prompt in the middle of a workflow.
    @Test func aRequestAnsweredAtOnceKeepsThePlace() {
        QueueScript.play(
            """
            > agent A desktop
            = a camera granted
            > request 1 a microphone hold=15
            shown A #1 microphone
            > request 2 b camera
            queued 1
            > answer A #1 dismissed
            stop prompt#1
            nag a microphone 1
            record a:microphone=dismissed/person
            timer reservation:a 15000
            respond 1 dismissed microphone=undetermined refused=microphone hold=15
            moved 2 queued 0
            length 1
            > request 3 a camera hold=15
            accept 3
            stop reservation:a
            timer reservation:a 15000
            respond 3 answered camera=granted hold=15
            record a:camera=granted
            > request 4 a location
            accept 4
            stop reservation:a
            show A #2 4 location waiting=1
            timer prompt#2 300000
            moved 4 showing 0
            moved 2 queued 1
            length 2
            """)
    }

    /// A request that is answered at once holds a place at the end of the queue.
    @Test func aHoldAfterAnImmediateAnswerWaitsItsTurn() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 b camera
            shown A #1 camera
            = a camera granted
            > request 2 a camera hold=15
            accept 2
            timer reservation:a 15000
            respond 2 answered camera=granted hold=15
            record a:camera=granted
            > request 3 c camera
            queued 1
            > request 4 a microphone
            accept 4
            stop reservation:a
            moved 4 queued 1
            moved 3 queued 2
            length 3
            """)
    }

    @Test func aLongerHoldIsCutToTheLimit() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera hold=4000
            shown A #1 camera
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            timer reservation:a 15000
            respond 1 dismissed camera=undetermined refused=camera hold=15
            length 0
            """)
    }

    @Test func positionsDoNotCountHeldPlaces() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a camera hold=15
            shown A #1 camera
            > request 2 b camera
            queued 1
            > request 3 c camera
            queued 2
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            timer reservation:a 15000
            respond 1 dismissed camera=undetermined refused=camera hold=15
            moved 2 queued 0
            moved 3 queued 1
            length 2
            > request 4 a microphone
            accept 4
            stop reservation:a
            show A #2 4 microphone waiting=2
            timer prompt#2 300000
            moved 4 showing 0
            moved 2 queued 1
            moved 3 queued 2
            length 3
            """)
    }

    /// The hold that begins after one request takes the place of an earlier one of its connection, in front of it. The
    /// request behind is answered all the same.
    @Test func aHoldThatMovesHidesNoRequest() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 a@x camera hold=15
            shown A #1 camera
            > request 2 b@x camera hold=15
            queued 1
            > request 3 c camera
            queued 2
            > answer A #1 dismissed
            stop prompt#1
            nag a camera 1
            record a:camera=dismissed/person
            timer reservation:x 15000
            respond 1 dismissed camera=undetermined refused=camera hold=15
            moved 2 queued 0
            moved 3 queued 1
            length 2
            = b camera granted
            = c camera granted
            > facts
            timer reservation:x 15000
            respond 2 answered camera=granted hold=15
            record b:camera=granted
            respond 3 answered camera=granted
            record c:camera=granted
            length 0
            """)
    }
}
