// Requests over the limits are refused and leave no trace in the queue.

import Testing

@Suite
struct QueueLimitTests {
    /// The call itself is refused; other apps are not affected.
    @Test func requestsOfOneApp() {
        QueueScript.play(
            """
            > settings waitingPerApp=2
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 a@y microphone
            queued 1
            > request 3 a location
            refuse 3 LimitExceeded
            > request 4 b camera
            queued 2
            = a bluetooth granted
            > request 5 a bluetooth
            accept 5
            respond 5 answered bluetooth=granted
            record a:bluetooth=granted
            > close 1
            forget 1
            timer withdrawal1 2000
            length 2
            > request 6 a location
            accept 6
            moved 6 queued 3
            length 3
            """)
    }

    /// The request on screen counts.
    @Test func requestsOfAllApps() {
        QueueScript.play(
            """
            > settings waiting=2
            > agent A desktop
            > request 1 a camera
            shown A #1 camera
            > request 2 b camera
            queued 1
            > request 3 c camera
            refuse 3 LimitExceeded
            = c camera denied
            > request 4 c camera
            accept 4
            respond 4 answered camera=denied refused=camera
            record c:camera=denied
            > close 2
            forget 2
            record b:camera=withdrawn
            length 1
            > request 5 c microphone
            queued 1
            """)
    }

    /// The programs in a home have as many places together as four apps, in whatever folders they are.
    @Test func requestsOfOneFolder() {
        QueueScript.play(
            """
            > settings waitingPerApp=1
            > agent A desktop
            > request 1 /home/u/a camera
            shown A #1 camera
            > request 2 /usr/bin/python3:/home/u/b camera
            queued 1
            > request 3 /home/u/x/c camera
            queued 2
            > request 4 /home/u/y/d camera
            queued 3
            > request 5 /home/u/e camera
            refuse 5 LimitExceeded
            > request 6 /usr/bin/python3:/home/u/f camera
            refuse 6 LimitExceeded
            > request 7 /usr/bin/f camera
            queued 4
            > request 8 /home/v/f camera
            queued 5
            """)
    }

    /// One place in eight is for sandboxed apps.
    @Test func placesForSandboxedApps() {
        QueueScript.play(
            """
            > settings waiting=8
            > agent A desktop
            > request 1 /a camera
            shown A #1 camera
            > request 2 /b camera
            queued 1
            > request 3 /c camera
            queued 2
            > request 4 /d camera
            queued 3
            > request 5 /e camera
            queued 4
            > request 6 /f camera
            queued 5
            > request 7 /g camera
            queued 6
            > request 8 /h camera
            refuse 8 LimitExceeded
            > request 9 flatpak.x camera
            queued 7
            > request 10 flatpak.y camera
            refuse 10 LimitExceeded
            """)
    }

    /// "Not now" is no answer to another program, also of the same home: it was never shown.
    @Test func notNowToOneOfAFolder() {
        QueueScript.play(
            """
            > agent A desktop
            > request 1 /home/u/a camera
            shown A #1 camera
            > request 2 /home/u/x/b camera
            queued 1
            > answer A #1 dismissed
            stop prompt#1
            nag /home/u/a camera 1
            record /home/u/a:camera=dismissed/person
            respond 1 dismissed camera=undetermined refused=camera
            show A #2 2 camera waiting=0
            timer prompt#2 300000
            moved 2 showing 0
            length 1
            """)
    }
}
