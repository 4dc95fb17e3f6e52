// What apps used in the last days: how uses add up.

import DBus
import Foundation
import Testing

@testable import PermissionClient

struct UseSummaryTests {
    private static let app = AppID("flatpak:org.example.Video")!
    private static let other = AppID("exe:/usr/bin/recorder")!
    /// Three days from midnight to midnight.
    private static let days: [EpochSeconds] = [86_400, 172_800, 259_200]
    private static let now: EpochSeconds = 259_200 + 3600

    private func row(
        _ app: AppID = app, _ permission: Permission = .camera, end: EpochSeconds, seconds: UInt32,
        _ status: Status = .granted, count: UInt32 = 1
    ) -> HistoryRow {
        HistoryRow(
            time: end, request: "", app: app, item: .permission(permission), outcome: .used, by: .nobody, count: count,
            seconds: seconds, status: status)
    }

    private func summary(_ rows: [HistoryRow], _ uses: [UseRow] = []) -> [UseSummary] {
        UseSummary.of(rows, uses, days: UseSummaryTests.days, now: UseSummaryTests.now)
    }

    @Test func usesAddUp() throws {
        // The second is over midnight, the third began before the first day.
        let rows = summary([
            row(end: 100_000, seconds: 60, count: 3), row(end: 172_810, seconds: 30), row(end: 86_410, seconds: 100),
            row(end: 86_399, seconds: 10), row(.init("snap:a")!, end: 10, seconds: 5),
            HistoryRow(
                time: 100_000, request: "", app: UseSummaryTests.app, item: .permission(.camera), outcome: .granted,
                by: .person),
        ])
        #expect(rows.count == 1)
        let only = try #require(rows.first)
        #expect(only.key == AppPermission(app: UseSummaryTests.app, permission: .camera))
        #expect(only.count == 5 && only.ungranted == 0 && only.last == 172_810 && !only.isInUse)
        #expect(only.days == [60 + 20 + 10, 10, 0] && only.seconds == 100)
    }

    /// What began without a grant comes first, then what took longest.
    @Test func theOrder() {
        let rows = summary([
            row(end: 100_000, seconds: 60), row(UseSummaryTests.other, .microphone, end: 100_000, seconds: 1, .denied),
            row(UseSummaryTests.app, .microphone, end: 100_000, seconds: 600),
        ])
        #expect(rows.map(\.seconds) == [1, 600, 60] && rows.map(\.ungranted) == [1, 0, 0])
    }

    @Test func whatGoesOn() throws {
        let use = try #require(
            UseRow([
                "use": .uint32(1), "app": .string("exe:/usr/bin/recorder"), "permission": .string("microphone"),
                "since": .uint64(259_100), "status": .string("undetermined"),
            ]))
        let unknown = try #require(
            UseRow([
                "use": .uint32(2), "app": .string(""), "permission": .string("microphone"), "since": .uint64(259_100),
                "status": .string("undetermined"),
            ]))
        let only = try #require(summary([], [use, unknown]).first)
        #expect(only.count == 1 && only.ungranted == 1 && only.isInUse && only.last == UseSummaryTests.now)
        #expect(only.days == [0, 100, 3600])
    }

    /// Days begin at midnight in local time, also where the clock is set in between.
    @Test func daysBeginAtMidnight() {
        let now = EpochSeconds(time(nil))
        let starts = LocalDay.starts(of: 400, before: now)
        #expect(starts.count == 400 && starts.last! <= now && now - starts.last! < 90_000)
        for (day, next) in zip(starts, starts.dropFirst()) { #expect((82_800...90_000).contains(next - day)) }
        for start in starts {
            var (current, fields) = (time_t(start), tm())
            localtime_r(&current, &fields)
            #expect(fields.tm_hour == 0 && fields.tm_min == 0)
        }
    }
}
