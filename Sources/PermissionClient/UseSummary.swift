// What apps used in the last days: sums of the uses in the history and of those that go on, by app and permission.

package import PermissionModel

/// What an app did with a permission.
package struct UseSummary: Sendable, Hashable {
    package let key: AppPermission
    package private(set) var count = 0
    /// How many of them began without a grant.
    package private(set) var ungranted = 0
    /// When the last one ended; now, while it goes on.
    package private(set) var last: EpochSeconds = 0
    package private(set) var isInUse = false
    /// Seconds of use in each of the days, the oldest first. Uses that overlap, as of two cameras, add up.
    package private(set) var days: [EpochSeconds]

    package var seconds: EpochSeconds { days.reduce(0, +) }

    /// Those with uses that began without a grant come first, then the longest.
    ///
    /// - Parameters:
    ///   - rows: Of the history. Only uses count.
    ///   - uses: What goes on.
    ///   - days: When each day began, the oldest first; see ``LocalDay/starts(of:before:)``.
    ///   - now: The wall clock.
    package static func of(
        _ rows: [HistoryRow], _ uses: [UseRow], days: [EpochSeconds], now: EpochSeconds
    ) -> [UseSummary] {
        var found: [AppPermission: UseSummary] = [:]
        func add(
            _ app: AppID, _ permission: Permission, from start: EpochSeconds, to end: EpochSeconds, _ status: Status?,
            count: Int, goesOn: Bool
        ) {
            guard let first = days.first, end >= first else { return }
            let key = AppPermission(app: app, permission: permission)
            var summary = found[key] ?? UseSummary(key: key, days: Array(repeating: 0, count: days.count))
            summary.count += count
            if status != .granted { summary.ungranted += count }
            summary.last = max(summary.last, end)
            summary.isInUse = summary.isInUse || goesOn
            for (number, day) in days.enumerated() {
                let next = number + 1 < days.count ? days[number + 1] : EpochSeconds.max
                summary.days[number] += max(0, min(end, next) - max(start, day))
            }
            found[key] = summary
        }
        for row in rows where row.outcome == .used {
            guard let app = row.app, let permission = row.item.permission else { continue }
            // A row of several has the time of the first, and the sum of their seconds.
            let seconds = EpochSeconds(row.seconds ?? 0)
            add(
                app, permission, from: row.time - seconds, to: row.time, row.status, count: Int(row.count),
                goesOn: false)
        }
        for use in uses {
            guard let app = use.app else { continue }
            add(app, use.permission, from: use.since, to: now, use.status, count: 1, goesOn: true)
        }
        return found.values.sorted {
            ($1.ungranted > 0 ? 1 : 0, $1.seconds, $0.key.app) < ($0.ungranted > 0 ? 1 : 0, $0.seconds, $1.key.app)
        }
    }
}

extension PermissionSettings {
    /// What apps used in the last days, today included.
    package func summary(days count: Int, now: EpochSeconds) async throws(ClientError) -> [UseSummary] {
        let days = LocalDay.starts(of: count, before: now)
        let rows = try await history(outcome: .used, since: days.first)
        return UseSummary.of(rows, try await uses(), days: days, now: now)
    }
}
