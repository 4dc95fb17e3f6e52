// Which processes count as users of a node, in tables of events and searches.

import PermissionCore
import PermissionModel
import Testing

@Suite
struct NodeActivityTests {
    /// A step, with the uptime at which it happens; of a search, at which it begins.
    enum Step {
        case begin
        case events(opens: Int, closes: Int, endsWithOpen: Bool)
        /// A search of all processes: the number of descriptors of processes 1, 2 and so on.
        case search([Int])
        /// As ALSA reports them, with those that may not be inspected; 0 of one that ALSA alone names.
        case searchAll([Int?])
        case exit(Int32)

        static let open = Step.events(opens: 1, closes: 0, endsWithOpen: true)
        static let close = Step.events(opens: 0, closes: 1, endsWithOpen: false)
    }

    private static func found(_ descriptors: [Int?]) -> [ProcessKey: Int] {
        Dictionary(
            uniqueKeysWithValues: descriptors.enumerated().compactMap { index, count in
                count.map { (ProcessKey(pid: Int32(index + 1), startTime: 1), $0) }
            })
    }

    /// Runs the steps. Returns for each the processes that hold the node, `?` for a hidden one, and when the next search
    /// is due.
    private func play(_ steps: [(Int64, Step)]) -> [String] {
        var activity = NodeActivity()
        return steps.map { time, step in
            switch step {
            case .begin: activity.begin(at: time, epoch: time / 100)
            case .events(let opens, let closes, let endsWithOpen):
                let events = NodeEvents(opens: opens, closes: closes, endsWithOpen: endsWithOpen)
                activity.record(events, at: time, epoch: time / 100)
            case .search(let found):
                let seen = found.map { $0 > 0 ? $0 : nil }
                activity.found(NodeActivityTests.found(seen), from: time, epoch: time / 100, seesAll: false)
            case .searchAll(let found):
                activity.found(NodeActivityTests.found(found), from: time, epoch: time / 100, seesAll: true)
            case .exit(let pid):
                activity.exited(ProcessKey(pid: pid, startTime: 1), at: time, epoch: time / 100)
            }
            let who = activity.openings.map { "\($0.process.map { String($0.pid) } ?? "?")@\($0.since)" }
            return (who + [activity.due.map { "search \($0)" }].compactMap { $0 }).joined(separator: " ")
        }
    }

    @Test func anOpenThatLasts() {
        let steps: [(Int64, Step)] = [(1000, .open), (1500, .search([1])), (9000, .close), (9001, .search([]))]
        #expect(play(steps) == ["search 1500", "1@10", "1@10 search 9000", ""])
    }

    @Test func probes() {
        for close in [Int64(1010), 1499] {
            let steps: [(Int64, Step)] = [(1000, .open), (close, .close), (1500, .search([]))]
            #expect(play(steps) == ["search 1500", "search 1500", ""])
        }
    }

    /// A probe that is closed during the search may have been found.
    @Test func aCloseDuringTheSearch() {
        let steps: [(Int64, Step)] = [(1000, .open), (1505, .close), (1500, .search([1])), (1605, .search([]))]
        #expect(play(steps) == ["search 1500", "search 1500", "search 1505", ""])
    }

    @Test func whatIsOpenAtTheStart() {
        #expect(play([(1000, .begin), (1500, .search([1]))]) == ["search 1500", "1@10"])
    }

    /// What is found may be the second open, which may be a probe.
    @Test func anotherOpenBeforeTheSearch() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1010, .close), (1300, .open), (1500, .search([1])), (1800, .search([1])),
        ]
        #expect(play(steps) == ["search 1500", "search 1500", "search 1500", "search 1800", "1@10"])
    }

    @Test func aLateSearch() {
        #expect(play([(1000, .open), (1800, .search([1]))]) == ["search 1500", "1@10"])
    }

    /// Programs open and close it without end: one that is always there counts nevertheless.
    @Test func aStorm() {
        let storm = Step.events(opens: 500, closes: 500, endsWithOpen: false)
        let steps: [(Int64, Step)] = [
            (1000, storm), (1505, storm), (1500, .search([1, 1])), (1605, .search([1, 0])), (2010, storm),
            (2005, .search([1, 1])),
        ]
        #expect(
            play(steps) == [
                "search 1500", "search 1500", "search 1505", "search 2005", "search 2005", "1@10 search 2010",
            ])
    }

    @Test func severalProcessesAndDescriptors() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .search([2])), (2000, .open), (2500, .search([2, 1])), (3000, .close),
            (3001, .search([1, 1])), (4000, .close), (4001, .search([0, 1])),
        ]
        #expect(
            play(steps) == [
                "search 1500", "1@10", "1@10 search 2500", "1@10 2@20", "1@10 2@20 search 3000", "1@10 2@20",
                "1@10 2@20 search 4000", "2@20",
            ])
    }

    /// A child that inherited the descriptor has it open when its parent has exited; there is no event.
    @Test func anInheritedDescriptor() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .search([1])), (5000, .exit(1)), (5001, .search([0, 1])), (6000, .exit(7)),
        ]
        #expect(play(steps) == ["search 1500", "1@10", "search 5000", "2@10", "2@10"])
    }

    // MARK: Processes that may not be inspected

    @Test func aHiddenProcess() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .search([])), (2000, .open), (2500, .search([1])), (3000, .close),
            (3001, .search([])), (4000, .close), (4001, .search([])),
        ]
        #expect(
            play(steps) == [
                "search 1500", "?@10", "?@10 search 2500", "1@20 ?@10", "1@20 ?@10 search 3000", "?@10",
                "?@10 search 4000", "",
            ])
    }

    /// Probes of others neither end nor begin it.
    @Test func probesBesideAHiddenProcess() {
        let probe = Step.events(opens: 3, closes: 3, endsWithOpen: false)
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .search([])), (2000, probe), (2001, .search([])), (2500, .search([])),
        ]
        #expect(play(steps) == ["search 1500", "?@10", "?@10 search 2000", "?@10 search 2500", "?@10"])
    }

    /// The kernel reports the closes of a process with two descriptors as one if it exits: no hidden process remains.
    @Test(arguments: [1, 2])
    func closesThatAreReportedAsOne(_ closes: Int) {
        let both = Step.events(opens: 0, closes: closes, endsWithOpen: false)
        let probe: [(Int64, Step)] = [
            (1000, .open), (1100, .open), (1200, both), (1500, .search([])), (1600, .search([])),
        ]
        #expect(play(probe).last == "")
        let later: [(Int64, Step)] = [
            (1000, .open), (1100, .open), (1600, .search([2])), (2000, both), (2001, .search([])),
            (3000, .open), (3500, .search([1])),
        ]
        #expect(play(later).last == "1@30")
        // Of a hidden process as well.
        let hidden: [(Int64, Step)] = [
            (1000, .open), (1100, .open), (1600, .search([])), (2000, both), (2001, .search([])),
        ]
        #expect(play(hidden).suffix(3) == ["?@10", "?@10 search 2000", ""])
    }

    /// After a known process has closed it, a hidden one that opens it is noticed.
    @Test func aHiddenProcessAfterAKnownOne() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .search([1])), (2000, .close), (2001, .search([])), (3000, .open),
            (3500, .search([])),
        ]
        #expect(play(steps).last == "?@30")
    }

    /// A search may find a descriptor closed before the kernel reports it: that close is none of the next opener's.
    @Test func aCloseThatIsReportedLate() {
        let mixed = Step.events(opens: 1, closes: 1, endsWithOpen: true)
        let closes: [[(Int64, Step)]] = [[(2002, .close), (3000, .open)], [(3000, mixed)]]
        for late in closes {
            let steps: [(Int64, Step)] = [(1000, .open), (1500, .search([1])), (2000, .exit(1)), (2001, .search([]))]
            #expect(play(steps + late + [(3500, .search([]))]).last == "?@30")
        }
        // A known process that opens it again is no hidden one.
        let again: [(Int64, Step)] = [(1000, .open), (1500, .search([1])), (2000, mixed), (2500, .search([1]))]
        #expect(play(again).last == "1@10")
    }

    /// ALSA names hidden processes too, so that none has to be inferred.
    @Test func nothingIsHiddenFromALSA() {
        #expect(play([(1000, .open), (1500, .searchAll([]))]).last == "")
        #expect(play([(1000, .open), (1500, .searchAll([nil, 1]))]).last == "2@10")
    }

    /// The kernel reports a close, and ALSA names the process until it has released the device.
    @Test func aReleaseAfterTheClose() {
        let steps: [(Int64, Step)] = [
            (1000, .open), (1500, .searchAll([1])), (5000, .close), (5001, .searchAll([0])), (5500, .searchAll([])),
        ]
        #expect(play(steps) == ["search 1500", "1@10", "1@10 search 5000", "1@10 search 5500", ""])
        // It may not be inspected, and another one has closed it.
        let others: [(Int64, Step)] = [
            (1000, .open), (1500, .searchAll([0, 1])), (5000, .close), (5001, .searchAll([0])), (5500, .searchAll([0])),
        ]
        #expect(
            play(others) == ["search 1500", "1@10 2@10", "1@10 2@10 search 5000", "1@10 search 5500", "1@10"])
    }
}
