// Which processes count as users of a node, in tables of events and looks.

import PermissionCore
import PermissionModel
import Testing

@Suite
struct NodeActivityTests {
    /// A step, with the uptime at which it happens.
    enum Step {
        case begin
        case events(opens: Int, closes: Int, endsWithOpen: Bool)
        /// A look through all processes: the number of descriptors of processes 1, 2 and so on.
        case look([Int])
        /// As ALSA reports them, with those that may not be inspected.
        case lookAtAll([Int])
        case again([Int])
        case exit(Int32)

        static let open = Step.events(opens: 1, closes: 0, endsWithOpen: true)
        static let close = Step.events(opens: 0, closes: 1, endsWithOpen: false)
    }

    private static func found(_ descriptors: [Int]) -> [ProcessKey: Int] {
        Dictionary(
            uniqueKeysWithValues: descriptors.enumerated().filter { $0.element > 0 }.map {
                (ProcessKey(pid: Int32($0.offset + 1), startTime: 1), $0.element)
            })
    }

    /// Runs the steps. Returns for each the processes that hold the node, `?` for a hidden one, and when the next look is
    /// due.
    private func play(_ steps: [(Int64, Step)]) -> [String] {
        var activity = NodeActivity()
        return steps.map { time, step in
            switch step {
            case .begin: activity.begin(at: time, epoch: time / 100)
            case .events(let opens, let closes, let endsWithOpen):
                let events = NodeEvents(opens: opens, closes: closes, endsWithOpen: endsWithOpen)
                activity.note(events, at: time, epoch: time / 100)
            case .look(let found):
                activity.look(NodeActivityTests.found(found), at: time, epoch: time / 100, seesAll: false)
            case .lookAtAll(let found):
                activity.look(NodeActivityTests.found(found), at: time, epoch: time / 100, seesAll: true)
            case .again(let found): activity.lookAgain(NodeActivityTests.found(found))
            case .exit(let pid):
                activity.exited(ProcessKey(pid: pid, startTime: 1), at: time, epoch: time / 100)
            }
            let who = activity.holdings.map { "\($0.process.map { String($0.pid) } ?? "?")@\($0.since)" }
            return (who + [activity.due.map { "due \($0)" } ?? "-"]).joined(separator: " ")
        }
    }

    @Test func anOpenThatLasts() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .look([1])), (9000, .close), (9001, .again([])),
        ]
        #expect(play(steps) == ["due 1500", "1@10 -", "1@10 -", "-"])
    }

    @Test func aProbe() {
        #expect(play([(1000, .open), (1010, .close), (1500, .look([]))]) == ["due 1500", "due 1500", "-"])
    }

    /// Who already has the node open counts, but a probe at the start does not.
    @Test func whatIsOpenAtTheStart() {
        #expect(play([(1000, .begin), (1500, .look([1]))]) == ["due 1500", "1@10 -"])
        #expect(play([(1000, .begin), (1500, .look([]))]) == ["due 1500", "-"])
    }

    /// A second open shortly before the look: what is found may be that one, so it is looked up again.
    @Test func anotherOpenBeforeTheLook() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1010, .close), (1300, .open), (1500, .look([1])), (2000, .look([1])),
        ]
        #expect(play(steps) == ["due 1500", "due 1500", "due 1500", "due 2000", "1@10 -"])
    }

    /// A program opens and closes it without end: looks do not get more frequent, and a program that is always there
    /// counts nevertheless.
    @Test func aStorm() {
        let storm = Step.events(opens: 500, closes: 500, endsWithOpen: false)
        let steps: [(Int64, Step)] = [
            (1000, storm), (1499, storm), (1500, .look([1, 1])), (1999, storm), (2000, .look([1, 0])),
            (2499, storm), (2500, .look([1, 1])),
        ]
        #expect(
            play(steps) == [
                "due 1500", "due 1500", "due 2000", "due 2000", "1@10 due 2500", "1@10 due 2500", "1@10 due 3000",
            ])
    }

    @Test func severalProcessesAndDescriptors() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .look([2])), (2000, .open), (2500, .look([2, 1])), (3000, .close),
            (3001, .again([1, 1])), (4000, .close), (4001, .again([0, 1])),
        ]
        #expect(
            play(steps) == [
                "due 1500", "1@10 -", "1@10 due 2500", "1@10 2@20 -", "1@10 2@20 -", "1@10 2@20 -", "1@10 2@20 -",
                "2@20 -",
            ])
    }

    /// A child that inherited the descriptor has it open when its parent has exited; there is no event.
    @Test func anInheritedDescriptor() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .look([1])), (5000, .exit(1)), (5001, .look([0, 1])), (6000, .exit(7)),
        ]
        #expect(play(steps) == ["due 1500", "1@10 -", "due 5000", "2@10 -", "2@10 -"])
    }

    // MARK: Processes that may not be inspected

    @Test func aHiddenProcess() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .look([])), (2000, .open), (2500, .look([1])), (3000, .close), (3001, .again([])),
            (4000, .close), (4001, .again([])),
        ]
        #expect(
            play(steps)
                == [
                    "due 1500", "?@10 -", "?@10 due 2500", "?@10 1@20 -", "?@10 1@20 -", "?@10 -", "?@10 -", "-",
                ].map { $0.replacing("?@10 1@20", with: "1@20 ?@10") })
    }

    /// Probes of others neither end nor begin it.
    @Test func probesBesideAHiddenProcess() {
        let probe = Step.events(opens: 3, closes: 3, endsWithOpen: false)
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .look([])), (2000, probe), (2001, .again([])), (2500, .look([])),
        ]
        #expect(play(steps) == ["due 1500", "?@10 -", "?@10 due 2500", "?@10 due 2500", "?@10 -"])
    }

    /// The kernel reports the closes of a process with two descriptors as one if it exits: no hidden process remains.
    @Test(arguments: [1, 2])
    func closesThatAreReportedAsOne(_ closes: Int) {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1100, .open), (1200, .events(opens: 0, closes: closes, endsWithOpen: false)),
            (1500, .look([])), (1600, .look([])),
        ]
        #expect(play(steps).last == "-")
        let later: [(Int64, Step)] = [
            (1000, .open), (1100, .open), (1600, .look([2])),
            (2000, .events(opens: 0, closes: closes, endsWithOpen: false)), (2001, .again([])),
            (3000, .open), (3500, .look([1])),
        ]
        #expect(play(later).last == "1@30 -")
        // Of a hidden process as well.
        let hidden: [(Int64, Step)] = [
            (1000, .open), (1100, .open), (1600, .look([])),
            (2000, .events(opens: 0, closes: closes, endsWithOpen: false)), (2001, .again([])),
        ]
        #expect(play(hidden).suffix(3) == ["?@10 -", "?@10 -", "-"])
    }

    /// After a known process has closed it, a hidden one that opens it is noticed.
    @Test func aHiddenProcessAfterAKnownOne() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .look([1])), (2000, .close), (2001, .again([])), (3000, .open), (3500, .look([])),
        ]
        #expect(play(steps).last == "?@30 -")
    }

    /// ALSA names hidden processes too, so that none has to be inferred.
    @Test func nothingIsHiddenFromALSA() {
        #expect(play([(1000, .open), (1500, .lookAtAll([]))]).last == "-")
        #expect(play([(1000, .open), (1500, .lookAtAll([0, 1]))]).last == "2@10 -")
    }
}
