// How many daemons run at once: each takes inotify instances, of which a user has 128, and a share of the processors.

import DBus

/// A place for one permd, given back with the last reference to it.
@LoopActor
final class PermdPlace {
    private static let count = 12
    private static var free = count
    private static var waiting: [CheckedContinuation<Void, Never>] = []

    private init() {}

    static func take() async -> PermdPlace {
        await withCheckedContinuation { waiter in
            // Looked at in here: a suspension gives the loop away first.
            guard free > 0 else { return waiting.append(waiter) }
            free -= 1
            waiter.resume()
        }
        return PermdPlace()
    }

    deinit { Loop.shared.post { PermdPlace.giveBack() } }

    private static func giveBack() {
        if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
    }
}
