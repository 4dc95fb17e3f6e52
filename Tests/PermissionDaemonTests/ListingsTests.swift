// Lists of decisions, statuses and the history: complete in pages, and bounded.

import DBus
import Glibc
import PermissionCore
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ListingsTests {
    /// A service in this process, with a store to fill.
    @LoopActor
    private final class Fixture {
        let bus: PrivateBus
        let store: DecisionStore
        let client: Connection
        private let folder: TemporaryFolder
        private let connection: Connection
        private let coordinator: Coordinator
        private let service: BusService

        /// - Parameter fill: Writes the file before it is opened.
        init(fill: (Database) throws -> Void = { _ in }) async throws {
            folder = try TemporaryFolder(["state"])
            let database = try Database(path: folder.file("state/permd.db"))
            try Schema.current.migrate(database)
            try fill(database)
            bus = try await PrivateBus()
            let parts = await DaemonParts(folder) { 1000 }
            store = parts.store
            connection = try bus.connect()
            client = try bus.connect()
            coordinator = parts.coordinator(connection)
            service = BusService(coordinator)
            coordinator.start()
        }

        func end() async {
            client.close()
            connection.close()
            coordinator.detach()
            await bus.end()
        }

        func message(_ member: String, _ filter: [String: Value] = [:]) -> Message {
            .call(
                destination: connection.uniqueName, path: BusNames.root, interface: BusNames.policy, member: member,
                [.properties(filter)])
        }

        func set(_ app: String) -> Message {
            .call(
                destination: connection.uniqueName, path: BusNames.root, interface: BusNames.policy,
                member: "SetDecision", [.string(app), .string("camera"), .string("grant"), .properties([:])])
        }

        /// Pauses the camera for apps.
        func pause(_ apps: [AppID]) async {
            coordinator.feed(
                .dismissalsRestored(
                    apps.map { DismissalRecord(app: $0, item: .camera, count: 3, pausedUntil: 9000, since: 1) }))
        }

        func rows(_ member: String, limit: Int = 0, offset: Int = 0) async throws -> [String] {
            let filter: [String: Value] = ["limit": .uint32(UInt32(limit)), "offset": .uint32(UInt32(offset))]
            let rows =
                try await client.call(message(member, filter), timeoutMilliseconds: nil).body.first?.rows ?? []
            return rows.map { row in
                ["app", "permission", "decision", "status"].map { row[$0]?.stringValue ?? "-" }.joined(separator: " ")
            }
        }

        /// The rows of all pages, up to the first that is not full.
        func pages(_ member: String, of limit: Int) async throws -> [String] {
            var all: [String] = []
            while true {
                let page = try await rows(member, limit: limit, offset: all.count)
                all += page
                if page.count < limit { return all }
            }
        }

        /// Commits the decisions and returns when all of them are on disk.
        func decide(_ decisions: [Decision]) async {
            for decision in decisions {
                let row = HistoryRow(
                    time: EpochSeconds(time(nil)), request: "", app: decision.app,
                    item: .permission(decision.permission),
                    outcome: .granted,
                    by: .permctl)
                store.set([decision], history: [row]) { _ in }
            }
            await written(store)
        }
    }

    private func decision(_ app: String, _ permission: Permission, _ duration: Duration = .always) -> Decision {
        Decision(
            app: AppID(app)!, permission: permission, verdict: .grant, duration: duration, decided: 1, by: .permctl)
    }

    /// Apps with persistent and session decisions interleaved.
    private var many: [Decision] {
        (0..<100).map { decision("exe:/app\($0)", .camera) }
            + (0..<100).filter { $0 % 3 == 0 }.map { decision("exe:/app\($0)", .microphone) }
            + (0..<50).map { decision("exe:/both\($0)", .camera, $0 % 2 == 0 ? .session : .always) }
            + (0..<70).map { decision("flatpak:org.example.A\($0)", .camera, .session) }
    }

    @Test(arguments: ["ListDecisions", "ListStatuses", "ListHistory"])
    func pagesArePartsOfTheWholeList(_ member: String) async throws {
        let fixture = try await Fixture()
        await fixture.decide(many)
        let whole = try await fixture.rows(member)
        let apps = Set(many.map(\.app)).sorted()
        switch member {
        case "ListDecisions":
            let expected = many.sorted { ($0.app, $0.permission.rawValue) < ($1.app, $1.permission.rawValue) }
            #expect(whole == expected.map { "\($0.app) \($0.permission.rawValue) grant -" })
        case "ListStatuses":
            let asked = whole.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
            #expect(asked.count == 4 * apps.count)
            #expect(asked == apps.flatMap { app in Permission.allCases.map { "\(app) \($0.rawValue)" } })
        default:
            #expect(whole == many.reversed().map { "\($0.app) \($0.permission.rawValue) - -" })
        }
        for (limit, offset) in [(1, 0), (0, 1), (64, 0), (100, 63), (300, 255), (256, 256), (0, 400), (5, 100_000)] {
            let page = try await fixture.rows(member, limit: limit, offset: offset)
            let passes = page == Array(whole.dropFirst(offset).prefix(limit == 0 ? .max : limit))
            #expect(passes, "\(limit) from \(offset)")
        }
        await fixture.end()
    }

    /// Pauses stand among decisions where their apps do, on whatever page that is.
    @Test func pausesInPages() async throws {
        let fixture = try await Fixture()
        let apps = (0..<40).map { "exe:/app\($0 + 10)" }
        await fixture.decide(apps.enumerated().filter { $0.offset % 3 != 0 }.map { decision($0.element, .camera) })
        await fixture.pause(apps.enumerated().filter { $0.offset % 2 == 0 }.map { AppID($0.element)! })
        let whole = try await fixture.rows("ListDecisions")
        let expected = apps.enumerated().flatMap { index, app in
            (index % 3 != 0 ? ["\(app) camera grant -"] : []) + (index % 2 == 0 ? ["\(app) camera pause -"] : [])
        }
        #expect(whole == expected)
        let listed = apps.enumerated().filter { $0.offset % 3 != 0 || $0.offset % 2 == 0 }.map(\.element)
        for (limit, offset) in [(1, 0), (1, 1), (7, 3), (10, 20), (100, 30), (5, 46), (5, 47), (5, 1000)] {
            let page = try await fixture.rows("ListDecisions", limit: limit, offset: offset)
            #expect(page == Array(whole.dropFirst(offset).prefix(limit)), "\(limit) from \(offset)")
            let statuses = try await fixture.rows("ListStatuses", limit: limit, offset: offset)
            #expect(statuses.count == min(limit, max(0, 4 * listed.count - offset)))
        }
        let statuses = try await fixture.rows("ListStatuses").map { String($0.prefix { $0 != " " }) }
        #expect(statuses == listed.flatMap { Array(repeating: $0, count: 4) })
        await fixture.end()
    }

    /// A page has all rows that there is room for, although the file has some that cannot be read and some that are not
    /// in force any more.
    @Test(arguments: ["ListDecisions", "ListStatuses"])
    func onlyTheLastPageIsShort(_ member: String) async throws {
        let apps = (0..<60).map { decision("exe:/app\($0 + 10)", .camera, $0 % 3 == 1 ? .until(900) : .always) }
        let fixture = try await Fixture { database in
            for decision in apps { try DecisionRows.set(decision, database) }
            try database.execute("UPDATE decision SET by = 'person' WHERE CAST(substr(app, 9) AS INTEGER) % 3 = 0")
        }
        let listed = apps.enumerated().filter { $0.offset % 3 == 0 }.map { "\($0.element.app) camera grant" }
        #expect(listed.count == 20)
        for limit in [1, 3, 7, 64] {
            let found = try await fixture.pages(member, of: limit).filter { $0.contains(" camera grant ") }
            #expect(found.map { $0.split(separator: " ").prefix(3).joined(separator: " ") } == listed, "\(limit)")
        }
        await fixture.end()
    }

    // MARK: Bounds

    /// A reply has at most 1,024 rows, whatever is asked for.
    @Test(arguments: ["ListDecisions", "ListStatuses", "ListHistory"])
    func repliesAreBounded(_ member: String) async throws {
        let fixture = try await Fixture()
        await fixture.decide((0..<1100).map { decision("exe:/app\($0)", .camera) })
        for limit in [0, 1024, 1025, Int(UInt32.max)] {
            #expect(try await fixture.rows(member, limit: limit).count == 1024)
        }
        let rest = try await fixture.rows(member, offset: 1024).count
        #expect(rest == (member == "ListStatuses" ? 1024 : 76))
        #expect(try await fixture.rows(member, offset: 4400).isEmpty)
        await fixture.end()
    }

    /// Lists wait for their turn, and one caller's do not fill the memory.
    @Test func waitingListsAreBounded() async throws {
        let fixture = try await Fixture()
        #expect(try await fixture.rows("ListHistory").isEmpty)
        let answers = EventLog<String>()
        let filler = Value.string(String(repeating: "x", count: 1 << 20))
        for _ in 0..<8 {
            let message = fixture.message("ListHistory", ["filler": filler])
            fixture.client.call(message, timeoutMilliseconds: nil) { result in
                switch result {
                case .success: answers.add("rows")
                case .failure(let error): answers.add(error.name)
                }
            }
        }
        let all = try await answers.wait(for: 8)
        #expect(Set(all).isSubset(of: ["rows", ErrorKind.limitExceeded.name]) && all.contains("rows"))
        #expect(try await fixture.rows("ListHistory").isEmpty)
        await fixture.end()
    }

    /// A list has the decisions that were answered before it, and no others.
    @Test func listsHaveWhatIsAcknowledged() async throws {
        let fixture = try await Fixture()
        #expect(try await fixture.rows("ListDecisions").isEmpty)
        let answers = EventLog<(listed: Int, acknowledged: Int)>()
        var acknowledged = 0
        for number in 0..<20 {
            fixture.client.call(fixture.set("exe:/app\(number)"), timeoutMilliseconds: nil) { _ in acknowledged += 1 }
            fixture.client.call(fixture.message("ListDecisions"), timeoutMilliseconds: nil) {
                answers.add(((try? $0.get())?.body.first?.rows?.count ?? -1, acknowledged))
            }
        }
        // The bus keeps the order of the replies.
        for answer in try await answers.wait(for: 20) { #expect(answer.listed == answer.acknowledged) }
        await fixture.end()
    }
}
