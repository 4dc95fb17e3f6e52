// Limits how many buses and daemons run at once. All tests start at the same time, and each bus or daemon uses CPU time
// and inotify instances, of which a user has 128.

import DBus

/// A slot for one bus or daemon, returned with the last reference to it.
@LoopActor
final class Slot {
    @LoopActor
    final class Row {
        private var free: Int
        private var waiting: [CheckedContinuation<Void, Never>] = []

        init(_ count: Int) { free = count }

        func take() async -> Slot {
            await withCheckedContinuation { waiter in
                // Checked here because suspending lets other work run on the loop first.
                guard free > 0 else { return waiting.append(waiter) }
                free -= 1
                waiter.resume()
            }
            return Slot(in: self)
        }

        fileprivate func giveBack() {
            if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
        }
    }

    static let daemons = Row(12)
    /// More than there are tests that hold one bus and wait for another, so such tests cannot deadlock.
    static let buses = Row(40)

    private let row: Row

    private init(in row: Row) { self.row = row }

    deinit { Loop.shared.post { [row] in row.giveBack() } }
}
