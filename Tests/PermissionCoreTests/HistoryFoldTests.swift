// Repeated rows are folded into one row with a count; memory and disk use stay bounded.

import PermissionModel
import Testing

@testable import PermissionCore

@Suite
struct HistoryFoldTests {
    private func row(
        _ app: String, _ outcome: Outcome, _ by: Author = .nobody, _ question: Question = .camera,
        time: EpochSeconds = 1000
    ) -> HistoryRow {
        HistoryRow(
            time: time, request: "/r", app: AppID("desktop:\(app)")!, question: question, outcome: outcome, by: by)
    }

    /// The unwritten rows in the order they are returned, each as `number app outcome count`.
    private func written(_ fold: inout HistoryFold, at uptime: Int64) -> [String] {
        fold.takeUnwritten(at: uptime).map {
            "\($0.number) \($0.row.app.name) \($0.row.outcome.rawValue)\($0.row.by.rawValue) \($0.row.count)"
        }
    }

    @Test func repeatedRowsAreCounted() {
        var fold = HistoryFold()
        for step in 0..<1000 {
            #expect(fold.add(row("a", .withdrawn), at: Int64(step)).isNew == (step == 0))
            _ = fold.add(row("a", .failed), at: Int64(step))
            _ = fold.add(row("b", .withdrawn), at: Int64(step))
        }
        #expect(written(&fold, at: 1000) == ["1 a withdrawn 1000", "2 a failed 1000", "3 b withdrawn 1000"])
        #expect(written(&fold, at: 1000) == [])
        // The same row is returned again with a higher count.
        _ = fold.add(row("a", .withdrawn), at: 59_999)
        #expect(written(&fold, at: 59_999) == ["1 a withdrawn 1001"])
        // A minute after the first row a new one begins. Uptime decides this, not the wall clock.
        #expect(fold.add(row("a", .withdrawn, time: -5), at: 60_000).isNew)
        #expect(written(&fold, at: 60_000) == ["4 a withdrawn 1"])
    }

    @Test func rowsOfDifferentAuthorsOrPermissionsAreNotFolded() {
        var fold = HistoryFold()
        for by in [Author.nobody, .guard, .administrator, .timeout, .person] {
            #expect(fold.add(row("a", .dismissed, by), at: 0).isNew)
        }
        #expect(fold.add(row("a", .dismissed, .guard, .microphone), at: 0).isNew)
    }

    /// Uses within a minute are one row with the sum of their seconds, but not those with another status.
    @Test func usesAreAdded() {
        var fold = HistoryFold()
        func use(_ seconds: UInt32, _ status: Status) -> Bool {
            var row = row("a", .used)
            (row.seconds, row.status) = (seconds, status)
            return fold.add(row, at: 0).isNew
        }
        #expect(use(2, .granted) && !use(3, .granted) && use(7, .denied) && !use(.max, .denied))
        let rows = fold.takeUnwritten(at: 0).map(\.row)
        #expect(rows.map(\.seconds) == [5, .max] && rows.map(\.count) == [2, 2])
        #expect(rows.map(\.status) == [.granted, .denied])
    }

    /// A grant, a denial and another grant are three rows.
    @Test func decisionsKeepTheirOrder() {
        var fold = HistoryFold()
        let words = [Outcome.granted, .granted, .denied, .granted].map { outcome in
            fold.add(row("a", outcome, .permctl), at: 0)
        }
        #expect(words.map(\.isNew) == [true, false, true, true])
        #expect(words.map(\.numbered.number) == [1, 1, 2, 3])
        #expect(words.map(\.numbered.row.count) == [1, 2, 1, 1])
    }

    @Test func rowsThatCouldNotBeWrittenAreReturnedAgain() {
        var fold = HistoryFold()
        // A decision that could not be stored is forgotten: the next one is a new row.
        fold.forget([fold.add(row("a", .granted, .person), at: 0).numbered])
        #expect(fold.add(row("a", .granted, .person), at: 0).isNew)
        _ = fold.takeUnwritten(at: 0)
        _ = fold.add(row("a", .withdrawn), at: 0)
        let rows = fold.takeUnwritten(at: 0)
        fold.failed(rows)
        _ = fold.add(row("a", .withdrawn), at: 1)
        #expect(written(&fold, at: 1) == ["3 a withdrawn 2"])
    }

    /// A store that could not be read at first may contain rows: numbering continues after them.
    @Test func numbersContinueAfterStoredRows() {
        var fold = HistoryFold()
        fold.goOn(after: 7)
        _ = fold.add(row("a", .withdrawn), at: 0)
        #expect(written(&fold, at: 0) == ["8 a withdrawn 1"])
        _ = fold.add(row("b", .withdrawn), at: 0)
        fold.goOn(after: 100)
        _ = fold.add(row("b", .withdrawn), at: 0)
        // A row that was written earlier may be in another file, so its count is not increased.
        _ = fold.add(row("a", .withdrawn), at: 0)
        #expect(written(&fold, at: 0) == ["109 b withdrawn 2", "110 a withdrawn 1"])
        fold.goOn(after: 50)
        #expect(fold.add(row("c", .withdrawn), at: 0).numbered.number == 111)
    }

    /// With ever new app names memory is bounded, and no row is lost if rows are taken whenever the fold is full.
    @Test func manyApps() {
        var fold = HistoryFold()
        var rows = 0
        for number in 0..<10_000 {
            _ = fold.add(row("app\(number)", .withdrawn), at: Int64(number))
            if fold.isFull { rows += fold.takeUnwritten(at: Int64(number)).count }
        }
        rows += fold.takeUnwritten(at: 10_000).count
        #expect(rows == 10_000)
    }
}
