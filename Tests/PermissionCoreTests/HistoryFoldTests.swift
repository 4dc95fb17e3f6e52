// Rows that wait are folded into one row with a count; memory stays bounded.

import PermissionModel
import Testing

@testable import PermissionCore

@Suite
struct HistoryFoldTests {
    private func row(
        _ app: String, _ outcome: Outcome, _ by: Author = .nobody, _ item: PromptItem = .camera
    ) -> HistoryRow {
        HistoryRow(
            time: 1000, request: "/r", app: AppID("snap:\(app)")!, item: item, outcome: outcome, by: by)
    }

    /// The rows in the order they are returned, each as `app outcome count`.
    private func taken(_ fold: inout HistoryFold) -> [String] {
        fold.takeAll().map { "\($0.app?.name ?? "") \($0.outcome.rawValue)\($0.by.rawValue) \($0.count)" }
    }

    @Test func repeatedRowsAreCounted() {
        var fold = HistoryFold()
        for step in 0..<1000 {
            let isNew = fold.add(row("a", .withdrawn))
            #expect(isNew == (step == 0))
            _ = fold.add(row("a", .failed))
            _ = fold.add(row("b", .withdrawn))
        }
        #expect(taken(&fold) == ["a withdrawn 1000", "a failed 1000", "b withdrawn 1000"])
        #expect(taken(&fold) == [])
        _ = fold.add(row("a", .withdrawn))
        #expect(taken(&fold) == ["a withdrawn 1"])
    }

    @Test func rowsOfDifferentAuthorsOrPermissionsAreNotFolded() {
        var fold = HistoryFold()
        for by in [Author.nobody, .throttle, .administrator, .timeout, .person] {
            let isNew = fold.add(row("a", .dismissed, by))
            #expect(isNew)
        }
        let isNew = fold.add(row("a", .dismissed, .throttle, .microphone))
        #expect(isNew)
    }

    /// Uses are one row with the sum of their seconds, but not those with another status.
    @Test func usesAreAdded() {
        var fold = HistoryFold()
        func use(_ seconds: UInt32, _ status: Status) -> Bool {
            var row = row("a", .used)
            (row.seconds, row.status) = (seconds, status)
            return fold.add(row)
        }
        #expect(use(2, .granted) && !use(3, .granted) && use(7, .denied) && !use(.max, .denied))
        let rows = fold.takeAll()
        #expect(rows.map(\.seconds) == [5, .max] && rows.map(\.count) == [2, 2])
        #expect(rows.map(\.status) == [.granted, .denied])
    }

    @Test func rowsThatCouldNotBeWrittenAreReturnedAgain() {
        var fold = HistoryFold()
        _ = fold.add(row("a", .withdrawn))
        let rows = fold.takeAll()
        _ = fold.add(row("b", .withdrawn))
        _ = fold.add(row("a", .withdrawn))
        fold.putBack(rows)
        #expect(taken(&fold) == ["a withdrawn 2", "b withdrawn 1"])
    }

    /// With ever new app names memory is bounded, and no row is lost if rows are taken whenever the fold is full.
    @Test func manyApps() {
        var fold = HistoryFold()
        var rows: [HistoryRow] = []
        for number in 0..<10_000 {
            _ = fold.add(row("app\(number)", .withdrawn))
            if fold.isFull { rows += fold.takeAll() }
        }
        rows += fold.takeAll()
        #expect(rows.count == 10_000)
        // What cannot be written is kept as far as there is room.
        fold.putBack(rows)
        #expect(fold.isFull)
        let kept = fold.takeAll().count
        #expect(kept == HistoryFold.capacity)
    }
}
