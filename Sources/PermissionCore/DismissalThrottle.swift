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

    package init(app: AppID, item: PromptItem, count: Int, pausedUntil: EpochSeconds?, since: EpochSeconds) {
        self.app = app
        self.item = item
        self.count = count
        self.pausedUntil = pausedUntil
        self.since = since
    }

    package var isEmpty: Bool { count == 0 && pausedUntil == nil }
}

struct DismissalThrottle {
    private struct Key: Hashable {
        let app: AppID
        let item: PromptItem
    }

    private var records: [Key: DismissalRecord] = [:]
    /// Milliseconds for which an app's prompts were on screen since a person answered one.
    private var unanswered: [AppID: Int64] = [:]

    mutating func restore(_ restored: [DismissalRecord]) {
        for record in restored { records[Key(app: record.app, item: record.item)] = record }
    }

    /// The end of the current pause, in which the throttle dismisses this question, if there is one.
    func pauseEnd(_ app: AppID, _ item: PromptItem, at now: EpochSeconds) -> EpochSeconds? {
        guard let end = records[Key(app: app, item: item)]?.pausedUntil, end > now else { return nil }
        return end
    }

    func pauses(at now: EpochSeconds) -> [Pause] {
        records.values.compactMap { record in
            guard let end = record.pausedUntil, end > now else { return nil }
            return Pause(app: record.app, item: record.item, until: end, since: record.since)
        }
    }

    /// Whether one more dismissal pauses the question.
    func isLast(_ app: AppID, _ item: PromptItem, at now: EpochSeconds, configuration: Configuration) -> Bool {
        let record = records[Key(app: app, item: item)]
        let isOver = record?.pausedUntil.map { $0 <= now } ?? false
        return (isOver ? 0 : record?.count ?? 0) + 1 >= configuration.nagLimit
    }

    /// Counts a dismissal by the person. Returns the record to store.
    mutating func dismissed(
        _ app: AppID, _ item: PromptItem, at now: EpochSeconds, configuration: Configuration
    ) -> DismissalRecord {
        let key = Key(app: app, item: item)
        var record =
            records[key] ?? DismissalRecord(app: app, item: item, count: 0, pausedUntil: nil, since: now)
        if let end = record.pausedUntil, end <= now {
            record.count = 0
            record.pausedUntil = nil
        }
        record.count += 1
        record.since = now
        if record.count >= configuration.nagLimit { record.pausedUntil = now + configuration.nagPause }
        records[key] = record
        return record
    }

    /// Counts the time for which a prompt was on screen without an answer, whether it ran out or the app withdrew it.
    /// Once that is the time of ``Limits/unansweredPrompts`` prompts, everything the app can ask is paused. Returns the
    /// records to store.
    mutating func leftUnanswered(
        _ app: AppID, for milliseconds: Int64, at now: EpochSeconds, configuration: Configuration
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
            let record = DismissalRecord(
                app: app, item: item, count: records[key]?.count ?? 0, pausedUntil: now + configuration.nagPause,
                since: now)
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
