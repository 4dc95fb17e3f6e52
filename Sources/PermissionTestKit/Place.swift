// How many buses and daemons run at once: each takes inotify instances, of which a user has 128, and a share of the
// processors. All tests begin at the same time.

import DBus

/// A place for one of them, given back with the last reference to it.
@LoopActor
final class Place {
    @LoopActor
    final class Row {
        private var free: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(_ count: Int) { free = count }

        func take() async -> Place {
            await withCheckedContinuation { waiter in
                // Looked at in here: a suspension gives the loop away first.
                guard free > 0 else { return waiting.append(waiter) }
                free -= 1
                waiter.resume()
            }
            return Place(in: self)
        }

        fileprivate func giveBack() {
            if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
        }
    }

    static let daemons = Row(12)
    /// More than there are tests that have one bus and wait for another: no such tests wait for each other.
    static let buses = Row(40)

    private let row: Row

    private init(in row: Row) { self.row = row }

    deinit { Loop.shared.post { [row] in row.giveBack() } }
}
