// Takes back the grants for ever that nobody has used for the days of the setting UnusedDays. Looks once a day, a minute
// after permd has started, and when the setting may have changed.

import DBus
import PermissionCore
import PermissionModel

@LoopActor
final class UnusedGrants {
    /// In seconds.
    private static let day: EpochSeconds = 86_400
    /// Milliseconds after the start of permd, which is that of the session: what tells of it has to start, too.
    private static let pause: Int64 = 60_000

    private let store: DecisionStore
    private let now: @Sendable () -> EpochSeconds
    private let days: @LoopActor () -> Int
    private let isInUse: @LoopActor (AppID, Permission) -> Bool
    private let onEnd: @LoopActor ([Decision]) -> Void
    private var next: LoopTimer?

    /// - Parameters:
    ///   - days: The setting; 0 means never.
    ///   - onEnd: Called with the grants that were taken back.
    init(
        store: DecisionStore, now: @escaping @Sendable () -> EpochSeconds, days: @escaping @LoopActor () -> Int,
        isInUse: @escaping @LoopActor (AppID, Permission) -> Bool, onEnd: @escaping @LoopActor ([Decision]) -> Void
    ) {
        (self.store, self.now, self.days, self.isInUse, self.onEnd) = (store, now, days, isInUse, onEnd)
    }

    func start() {
        next = Loop.shared.after(milliseconds: UnusedGrants.pause) { [weak self] in self?.check() }
    }

    func check() {
        next?.cancel()
        next = Loop.shared.at(epochSeconds: now() + UnusedGrants.day) { [weak self] in self?.check() }
        let days = days()
        guard days > 0 else { return }
        let ended = store.endUnused(since: now() - EpochSeconds(days) * UnusedGrants.day, unless: isInUse)
        if !ended.isEmpty { onEnd(ended) }
    }

    func stop() { next?.cancel() }
}
