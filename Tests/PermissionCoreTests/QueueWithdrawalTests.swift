// Apps that repeatedly withdraw their own prompts.

import Testing

@Suite
struct QueueWithdrawalTests {
    /// That many requests by `a`, each withdrawn at once. Their ids start at 101.
    private func withdrawn(_ times: Int) -> String {
        (101..<(101 + times)).map { "> request \($0) a camera\nalone\n> close \($0)\ngone \($0)\n" }.joined()
    }

    /// For a minute after the fifth, requests that need a prompt are refused; others are answered.
    @Test func fiveInAMinute() {
        QueueScript.play(
            withdrawn(2)
                + """
                > request 3 a@y camera
                alone
                > close 3
                gone 3
                > request 4 a@z camera
                alone
                > left z
                gone 4
                + 59
                > request 5 a camera
                alone
                > close 5
                gone 5
                > request 6 a camera
                refuse 6 LimitExceeded
                > request 7 a@y microphone
                refuse 7 LimitExceeded
                > request 8 a camera quiet
                accept 8
                respond 8 answered camera=undetermined refused=camera
                = a location granted
                > request 9 a location
                accept 9
                respond 9 answered location=granted
                record a:location=granted
                > request 10 b camera
                alone
                > close 10
                forget 10
                record b:camera=withdrawn
                stop agentWait
                length 0
                + 59
                > request 11 a camera
                refuse 11 LimitExceeded
                + 1
                > request 12 a camera
                alone
                > close 12
                gone 12
                > request 13 a camera
                alone
                """)
    }

    /// The first withdrawal is a minute old at the fifth.
    @Test func fiveInMoreThanAMinute() {
        QueueScript.play(
            withdrawn(4)
                + """
                + 60
                > request 5 a camera
                alone
                > close 5
                gone 5
                > request 6 a camera
                alone
                """)
    }

    /// A page that a person loads again and again withdraws its prompts, but none of them flickers.
    @Test func promptsThatWereSeen() {
        let reloads = (1...6).map { number in
            """
            > request \(number) a camera
            shown A #\(number) camera
            + 5
            > close \(number)
            forget \(number)
            timer withdrawal\(number) 2000
            length 0
            + 2
            > timer withdrawal \(number)
            withdraw A #\(number)
            stop prompt#\(number)
            record a:camera=withdrawn
            """
        }
        QueueScript.play("> agent A desktop\n" + reloads.joined(separator: "\n"))
    }

    /// A prompt that comes for a moment counts as soon as it has gone.
    @Test func promptsThatFlicker() {
        let flickers = (1...5).map { number in
            """
            > request \(number) a camera
            shown A #\(number) camera
            > close \(number)
            forget \(number)
            timer withdrawal\(number) 2000
            length 0
            + 2
            > timer withdrawal \(number)
            withdraw A #\(number)
            stop prompt#\(number)
            record a:camera=withdrawn
            """
        }
        QueueScript.play(
            "> agent A desktop\n" + flickers.joined(separator: "\n")
                + """

                > request 6 a camera
                refuse 6 LimitExceeded
                """)
    }

    @Test(arguments: ["a camera", "* *"])
    func liftedByAReset(_ what: String) {
        QueueScript.play(
            withdrawn(5)
                + """
                > request 1 a camera
                refuse 1 LimitExceeded
                > lift b *
                > request 2 a camera
                refuse 2 LimitExceeded
                > lift \(what)
                > request 3 a camera
                alone
                """)
    }

    /// All waiting requests of the app end, except the one on screen.
    @Test func waitingRequestsEndToo() {
        QueueScript.play(
            withdrawn(3)
                + """
                > agent A desktop
                > request 1 a camera
                shown A #1 camera
                > request 2 a camera
                queued 1
                > request 3 a camera
                queued 2
                > request 4 b camera
                queued 3
                > request 5 a@y microphone
                queued 4
                > close 3
                forget 3
                record a:camera=withdrawn
                moved 4 queued 2
                moved 5 queued 3
                length 4
                > close 2
                forget 2
                record a:camera=withdrawn
                respond 5 LimitExceeded microphone=undetermined refused=microphone
                record a:microphone=failed
                moved 4 queued 1
                length 2
                > answer A #1 camera=grant/always
                stop prompt#1
                commit 1 camera=grant/always; a:camera=granted/person
                """)
    }

    /// When a connection leaves, all its requests together count as one withdrawal.
    @Test func leavingCountsOnce() {
        QueueScript.play(
            withdrawn(3)
                + """
                > request 1 a camera
                alone
                > request 2 a camera
                queued 1
                > request 3 a camera
                queued 2
                > left a
                forget 3
                record a:camera=withdrawn
                forget 2
                record a:camera=withdrawn
                forget 1
                record a:camera=withdrawn
                stop agentWait
                length 0
                > request 4 a@x camera
                alone
                > left x
                gone 4
                > request 5 a camera
                refuse 5 LimitExceeded
                """)
    }

    /// Only withdrawals by the app itself count.
    @Test func otherEndsDoNotCount() {
        QueueScript.play(
            withdrawn(4)
                + """
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
                > timer prompt #2
                withdraw A #2
                record a:camera=dismissed/timeout
                respond 2 dismissed camera=undetermined refused=camera
                length 0
                > request 3 a camera
                shown A #3 camera
                > answer A #3 camera=grant/always
                stop prompt#3
                nag a camera 0
                commit 3 camera=grant/always; a:camera=granted/person
                > close 3
                forget 3
                length 0
                > committed 3
                > request 4 a microphone
                shown A #4 microphone
                > agent-left A
                drop #4
                stop prompt#4
                start-agent
                timer agentWait 10000
                moved 4 queued 0
                > timer agentWait
                respond 4 NoAgent microphone=undetermined refused=microphone
                record a:microphone=failed
                length 0
                > request 5 a microphone
                alone
                """)
    }
}
