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
        case search([Int])
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

    /// Runs the steps; a look takes 9 milliseconds. Returns for each the processes that hold the node, `?` for a hidden
    /// one, and what is due when.
    private func play(_ steps: [(Int64, Step)]) -> [String] {
        var activity = NodeActivity()
        return steps.map { time, step in
            switch step {
            case .begin: activity.begin(at: time, epoch: time / 100)
            case .events(let opens, let closes, let endsWithOpen):
                let events = NodeEvents(opens: opens, closes: closes, endsWithOpen: endsWithOpen)
                activity.record(events, at: time, epoch: time / 100)
            case .search(let found):
                activity.foundAll(
                    NodeActivityTests.found(found), from: time, to: time + 9, epoch: time / 100, seesAll: false)
            case .lookAtAll(let found):
                activity.foundAll(
                    NodeActivityTests.found(found), from: time, to: time + 9, epoch: time / 100, seesAll: true)
            case .again(let found):
                activity.foundKnown(NodeActivityTests.found(found), at: time, epoch: time / 100)
            case .exit(let pid):
                activity.exited(ProcessKey(pid: pid, startTime: 1), at: time, epoch: time / 100)
            }
            let who = activity.openings.map { "\($0.process.map { String($0.pid) } ?? "?")@\($0.since)" }
            let due = activity.due.map { "look \($0)" }
            return (who + ([due, activity.judgeDue.map { "judge \($0)" }].compactMap { $0 })).joined(separator: " ")
        }
    }

    @Test func anOpenThatLasts() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1250, .search([1])), (1500, .again([1])), (9000, .close), (9001, .again([])),
        ]
        #expect(play(steps) == ["look 1250", "judge 1500", "1@10", "1@10", ""])
    }

    @Test func probes() {
        let short: [(Int64, Step)] = [(1000, .open), (1010, .close), (1250, .search([])), (1500, .again([]))]
        #expect(play(short) == ["look 1250", "look 1250", "judge 1500", ""])
        let long: [(Int64, Step)] = [
            (1000, .open), (1250, .search([1])), (1499, .close), (1500, .again([])),
        ]
        #expect(play(long) == ["look 1250", "judge 1500", "judge 1500", ""])
    }

    /// Who already has the node open counts, but a probe at the start does not.
    @Test func whatIsOpenAtTheStart() {
        let steps: [(Int64, Step)] = [(1000, .begin), (1250, .search([1, 1])), (1500, .again([1]))]
        #expect(play(steps) == ["look 1250", "judge 1500", "1@10"])
    }

    /// A second open after the look: what is found may be that one, so all is looked up again.
    @Test func anotherOpenAfterTheLook() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1010, .close), (1250, .search([])), (1300, .open), (1550, .search([1])),
            (1800, .again([1])),
        ]
        #expect(play(steps) == ["look 1250", "look 1250", "judge 1500", "look 1550", "judge 1800", "1@10"])
    }

    /// A look that takes longer than the probe time is judged at once.
    @Test func aLateLook() {
        #expect(play([(1000, .open), (1800, .search([1]))]) == ["look 1250", "1@10"])
    }

    /// A program opens and closes it without end: looks do not get more frequent, and a program that is always there
    /// counts nevertheless.
    @Test func aStorm() {
        let storm = Step.events(opens: 500, closes: 500, endsWithOpen: false)
        let steps: [(Int64, Step)] = [
            (1000, storm), (1255, storm), (1250, .search([1, 1])), (1510, storm), (1505, .search([1, 0])),
            (1765, storm),
            (1760, .search([1, 1])),
        ]
        #expect(
            play(steps) == [
                "look 1250", "look 1250", "look 1505", "look 1505", "look 1760", "look 1760", "1@10 look 2015",
            ])
    }

    @Test func severalProcessesAndDescriptors() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1250, .search([2])), (1500, .again([2])), (2000, .open), (2250, .search([2, 1])),
            (2500, .again([2, 1])), (3000, .close), (3001, .again([1, 1])), (4000, .close), (4001, .again([0, 1])),
        ]
        #expect(
            play(steps) == [
                "look 1250", "judge 1500", "1@10", "1@10 look 2250", "1@10 judge 2500", "1@10 2@20", "1@10 2@20",
                "1@10 2@20", "1@10 2@20", "2@20",
            ])
    }

    /// A child that inherited the descriptor has it open when its parent has exited; there is no event.
    @Test func anInheritedDescriptor() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1250, .search([1])), (1500, .again([1])), (5000, .exit(1)), (5001, .search([0, 1])),
            (6000, .exit(7)),
        ]
        #expect(play(steps) == ["look 1250", "judge 1500", "1@10", "look 5000", "2@10", "2@10"])
    }

    // MARK: Processes that may not be inspected

    @Test func aHiddenProcess() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1250, .search([])), (1500, .again([])), (2000, .open), (2250, .search([1])),
            (2500, .again([1])), (3000, .close), (3001, .again([])), (4000, .close), (4001, .again([])),
        ]
        #expect(
            play(steps) == [
                "look 1250", "judge 1500", "?@10", "?@10 look 2250", "?@10 judge 2500", "1@20 ?@10", "1@20 ?@10",
                "?@10", "?@10", "",
            ])
    }

    /// Probes of others neither end nor begin it.
    @Test func probesBesideAHiddenProcess() {
        let probe = Step.events(opens: 3, closes: 3, endsWithOpen: false)
        let steps: [(Int64, Step)] = [
            (1000, .open), (1250, .search([])), (1500, .again([])), (2000, probe), (2001, .again([])),
            (2250, .search([])), (2500, .again([])),
        ]
        #expect(
            play(steps) == [
                "look 1250", "judge 1500", "?@10", "?@10 look 2250", "?@10 look 2250", "?@10 judge 2500", "?@10",
            ])
    }

    /// The kernel reports the closes of a process with two descriptors as one if it exits: no hidden process remains.
    @Test(arguments: [1, 2])
    func closesThatAreReportedAsOne(_ closes: Int) {
        let both = Step.events(opens: 0, closes: closes, endsWithOpen: false)
        let probe: [(Int64, Step)] = [
            (1000, .open), (1100, .open), (1200, both), (1250, .search([])), (1600, .again([])),
        ]
        #expect(play(probe).last == "")
        let later: [(Int64, Step)] = [
            (1000, .open), (1100, .open), (1250, .search([2])), (1600, .again([2])), (2000, both), (2001, .again([])),
            (3000, .open), (3250, .search([1])), (3500, .again([1])),
        ]
        #expect(play(later).last == "1@30")
        // Of a hidden process as well.
        let hidden: [(Int64, Step)] = [
            (1000, .open), (1100, .open), (1250, .search([])), (1600, .again([])), (2000, both), (2001, .again([])),
        ]
        #expect(play(hidden).suffix(3) == ["?@10", "?@10", ""])
    }

    /// After a known process has closed it, a hidden one that opens it is noticed.
    @Test func aHiddenProcessAfterAKnownOne() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1250, .search([1])), (1500, .again([1])), (2000, .close), (2001, .again([])),
            (3000, .open), (3250, .search([])), (3500, .again([])),
        ]
        #expect(play(steps).last == "?@30")
    }

    /// ALSA names hidden processes too, so that none has to be inferred.
    @Test func nothingIsHiddenFromALSA() {
        #expect(play([(1000, .open), (1250, .lookAtAll([])), (1500, .again([]))]).last == "")
        #expect(play([(1000, .open), (1250, .lookAtAll([0, 1])), (1500, .again([0, 1]))]).last == "2@10")
    }
}
