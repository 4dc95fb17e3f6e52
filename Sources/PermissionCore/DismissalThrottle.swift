// Pauses an app's prompts about a question after several dismissals in a row (`Settings.nagLimit`), and all its prompts
// after they were on screen for long without any answer.

package import PermissionModel

/// The dismissals of one question of one app.
package struct DismissalRecord: Sendable, Hashable {
    package var app: AppID
    package var question: Question
    /// The number of consecutive dismissals by the person.
    package var count: Int
    package var pausedUntil: EpochSeconds?
    /// The time of the last change.
    package var since: EpochSeconds

    package init(app: AppID, question: Question, count: Int, pausedUntil: EpochSeconds?, since: EpochSeconds) {
        self.app = app
        self.question = question
        self.count = count
        self.pausedUntil = pausedUntil
        self.since = since
    }

    package var isEmpty: Bool { count == 0 && pausedUntil == nil }
}

struct DismissalThrottle {
    private struct Key: Hashable {
        let app: AppID
        let question: Question
    }

    private var records: [Key: DismissalRecord] = [:]
    /// Milliseconds for which an app's prompts were on screen since a person answered one.
    private var unanswered: [AppID: Int64] = [:]

    mutating func restore(_ restored: [DismissalRecord]) {
        for record in restored { records[Key(app: record.app, question: record.question)] = record }
    }

    /// The end of the current pause, in which the throttle dismisses this question, if there is one.
    func pauseEnd(_ app: AppID, _ question: Question, at now: EpochSeconds) -> EpochSeconds? {
        guard let end = records[Key(app: app, question: question)]?.pausedUntil, end > now else { return nil }
        return end
    }

    func pauses(at now: EpochSeconds) -> [Pause] {
        records.values.compactMap { record in
            guard let end = record.pausedUntil, end > now else { return nil }
            return Pause(app: record.app, question: record.question, until: end, since: record.since)
        }
    }

    /// Whether one more dismissal pauses the question.
    func isLast(_ app: AppID, _ question: Question, at now: EpochSeconds, settings: Settings) -> Bool {
        let record = records[Key(app: app, question: question)]
        let isOver = record?.pausedUntil.map { $0 <= now } ?? false
        return (isOver ? 0 : record?.count ?? 0) + 1 >= settings.nagLimit
    }

    /// Counts a dismissal by the person. Returns the record to store.
    mutating func dismissed(
        _ app: AppID, _ question: Question, at now: EpochSeconds, settings: Settings
    ) -> DismissalRecord {
        let key = Key(app: app, question: question)
        var record =
            records[key] ?? DismissalRecord(app: app, question: question, count: 0, pausedUntil: nil, since: now)
        if let end = record.pausedUntil, end <= now {
            record.count = 0
            record.pausedUntil = nil
        }
        record.count += 1
        record.since = now
        if record.count >= settings.nagLimit { record.pausedUntil = now + settings.nagPause }
        records[key] = record
        return record
    }

    /// Counts the time for which a prompt was on screen without an answer, whether it ran out or the app withdrew it.
    /// Once that is the time of ``Limits/unansweredPrompts`` prompts, everything the app can ask is paused. Returns the
    /// records to store.
    mutating func leftUnanswered(
        _ app: AppID, for milliseconds: Int64, at now: EpochSeconds, settings: Settings
    ) -> [DismissalRecord] {
        let longest = settings.promptTimeout * 1000
        let time = (unanswered.removeValue(forKey: app) ?? 0) + min(milliseconds, longest)
        guard time >= longest * Limits.unansweredPrompts else {
            if unanswered.count >= Limits.withdrawingApps, let least = unanswered.min(by: { $0.value < $1.value }) {
                unanswered[least.key] = nil
            }
            unanswered[app] = time
            return []
        }
        return Question.all.map { question in
            let key = Key(app: app, question: question)
            let record = DismissalRecord(
                app: app, question: question, count: records[key]?.count ?? 0, pausedUntil: now + settings.nagPause,
                since: now)
            records[key] = record
            return record
        }
    }

    /// A person answered a prompt of the app.
    mutating func noticed(_ app: AppID) { unanswered[app] = nil }

    /// Ends the row of dismissals after an answer. Returns the record to store, or nil if there was none.
    mutating func answered(_ app: AppID, _ question: Question, at now: EpochSeconds) -> DismissalRecord? {
        guard records.removeValue(forKey: Key(app: app, question: question)) != nil else { return nil }
        return DismissalRecord(app: app, question: question, count: 0, pausedUntil: nil, since: now)
    }

    /// Forgets the matching records; nil matches all.
    mutating func lift(app: AppID?, question: Question?) {
        if let app { noticed(app) } else { unanswered = [:] }
        records = records.filter { key, _ in
            !((app == nil || key.app == app) && (question == nil || key.question == question))
        }
    }
}
