// Pauses an app's prompts about a question after several dismissals in a row (`Configuration.nagLimit`), and all its prompts
// after they were on screen for long without any answer.

package import PermissionModel

/// The dismissals of one question of one app.
package struct DismissalRecord: Sendable, Hashable {
    package var app: AppID
    package var item: PromptItem
    /// The number of consecutive dismissals by the person.
    package var count: Int
    package var pausedUntil: EpochSeconds?
    /// The time of the last change.
    package var since: EpochSeconds
    /// When the pause ends at the latest, in milliseconds since boot: the wall clock may be set back.
    var deadline: Int64?

    package init(app: AppID, item: PromptItem, count: Int, pausedUntil: EpochSeconds?, since: EpochSeconds) {
        self.app = app
        self.item = item
        self.count = count
        self.pausedUntil = pausedUntil
        self.since = since
    }

    package var isEmpty: Bool { count == 0 && pausedUntil == nil }

    /// The end of the pause; nil if there is none, or it is over.
    func pauseEnd(at now: Instant) -> EpochSeconds? {
        guard let end = pausedUntil, end > now.epoch else { return nil }
        guard let deadline else { return end }
        let rest = deadline - now.uptime
        return rest > 0 ? min(end, now.epoch + (rest + 999) / 1000) : nil
    }

    /// Begins a pause, or takes over one that began at `since`.
    fileprivate mutating func pause(until end: EpochSeconds, at now: Instant) {
        pausedUntil = end
        deadline = now.deadline(of: end, since: since)
    }
}

struct DismissalThrottle {
    private struct Key: Hashable {
        let app: AppID
        let item: PromptItem
    }

    private var records: [Key: DismissalRecord] = [:]
    /// Milliseconds for which an app's prompts were on screen since a person answered one.
    private var unanswered: [AppID: Int64] = [:]

    mutating func restore(_ restored: [DismissalRecord], at now: Instant) {
        for var record in restored {
            if let end = record.pausedUntil { record.pause(until: end, at: now) }
            records[Key(app: record.app, item: record.item)] = record
        }
    }

    /// The end of the current pause, in which the throttle dismisses this question, if there is one.
    func pauseEnd(_ app: AppID, _ item: PromptItem, at now: Instant) -> EpochSeconds? {
        records[Key(app: app, item: item)]?.pauseEnd(at: now)
    }

    func pauses(at now: Instant) -> [Pause] {
        records.values.compactMap { record in
            guard let end = record.pauseEnd(at: now) else { return nil }
            return Pause(app: record.app, item: record.item, until: end, since: record.since)
        }
    }

    /// Whether one more dismissal pauses the question.
    func isLast(_ app: AppID, _ item: PromptItem, at now: Instant, configuration: Configuration) -> Bool {
        let record = records[Key(app: app, item: item)]
        let isOver = record?.pausedUntil != nil && record?.pauseEnd(at: now) == nil
        return (isOver ? 0 : record?.count ?? 0) + 1 >= configuration.nagLimit
    }

    /// Counts a dismissal by the person. Returns the record to store.
    mutating func dismissed(
        _ app: AppID, _ item: PromptItem, at now: Instant, configuration: Configuration
    ) -> DismissalRecord {
        let key = Key(app: app, item: item)
        var record =
            records[key] ?? DismissalRecord(app: app, item: item, count: 0, pausedUntil: nil, since: now.epoch)
        if record.pausedUntil != nil, record.pauseEnd(at: now) == nil {
            record.count = 0
            record.pausedUntil = nil
        }
        record.count += 1
        record.since = now.epoch
        if record.count >= configuration.nagLimit { record.pause(until: now.epoch + configuration.nagPause, at: now) }
        records[key] = record
        return record
    }

    /// Counts the time for which a prompt was on screen without an answer, whether it ran out or the app withdrew it.
    /// Once that is the time of ``Limits/unansweredPrompts`` prompts, everything the app can ask is paused. Returns the
    /// records to store.
    mutating func leftUnanswered(
        _ app: AppID, for milliseconds: Int64, at now: Instant, configuration: Configuration
    ) -> [DismissalRecord] {
        let longest = configuration.promptTimeout * 1000
        let time = (unanswered.removeValue(forKey: app) ?? 0) + min(milliseconds, longest)
        guard time >= longest * Limits.unansweredPrompts else {
            if unanswered.count >= Limits.withdrawingApps, let least = unanswered.min(by: { $0.value < $1.value }) {
                unanswered[least.key] = nil
            }
            unanswered[app] = time
            return []
        }
        return PromptItem.all.map { item in
            let key = Key(app: app, item: item)
            var record = DismissalRecord(
                app: app, item: item, count: records[key]?.count ?? 0, pausedUntil: nil, since: now.epoch)
            record.pause(until: now.epoch + configuration.nagPause, at: now)
            records[key] = record
            return record
        }
    }

    /// A person answered a prompt of the app.
    mutating func seen(_ app: AppID) { unanswered[app] = nil }

    /// Ends the row of dismissals after an answer. Returns the record to store, or nil if there was none.
    mutating func answered(_ app: AppID, _ item: PromptItem, at now: EpochSeconds) -> DismissalRecord? {
        guard records.removeValue(forKey: Key(app: app, item: item)) != nil else { return nil }
        return DismissalRecord(app: app, item: item, count: 0, pausedUntil: nil, since: now)
    }

    /// Forgets the matching records; nil matches all.
    mutating func lift(app: AppID?, item: PromptItem?) {
        if let app { seen(app) } else { unanswered = [:] }
        records = records.filter { key, _ in
            !((app == nil || key.app == app) && (item == nil || key.item == item))
        }
    }
}
