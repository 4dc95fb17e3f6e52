// Long lists: complete and in pages, bounded, and with other calls served between their slices.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
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
        private let broker: Broker
        private let service: BusService

        init() async throws {
            folder = try TemporaryFolder()
            bus = try await PrivateBus()
            let parts = await DaemonParts(folder) { 1000 }
            store = parts.store
            connection = try bus.connect()
            client = try bus.connect()
            broker = parts.broker(connection)
            service = BusService(broker)
            broker.start()
        }

        func end() async {
            client.close()
            connection.close()
            broker.detach()
            await bus.stop()
        }

        func message(_ member: String, _ filter: [String: Value] = [:]) -> Message {
            .call(
                destination: connection.uniqueName, path: BusNames.root, interface: BusNames.policy, member: member,
                [.properties(filter)])
        }

        var status: Message {
            .call(
                destination: connection.uniqueName, path: BusNames.root, interface: BusNames.access,
                member: "GetStatus", [.strings(["camera"])])
        }

        func rows(_ member: String, limit: Int = 0, offset: Int = 0) async throws -> [String] {
            let filter: [String: Value] = ["limit": .uint32(UInt32(limit)), "offset": .uint32(UInt32(offset))]
            let rows =
                try await client.call(message(member, filter), timeoutMilliseconds: nil).body.first?.rows ?? []
            return rows.map { row in
                ["app", "permission", "decision", "status"].map { row[$0]?.stringValue ?? "-" }.joined(separator: " ")
            }
        }

        /// How many rows the slices of a list have.
        func slices(_ open: (PolicyInterface) -> (RowFilter) -> Listings.Slice) throws -> [Int] {
            let slice = open(broker.policyInterface)(try RowFilter(.properties([:])))
            var counts: [Int] = []
            while let rows = try slice() { counts.append(rows.count) }
            return counts
        }

        /// Commits the decisions and returns when all of them are on disk.
        func decide(_ decisions: [Decision]) async {
            for decision in decisions {
                let row = HistoryRow(
                    time: EpochSeconds(time(nil)), request: "", app: decision.app,
                    question: .permission(decision.permission),
                    outcome: .granted,
                    by: .permctl)
                store.commit([.set(decision)], history: [row]) { _ in }
            }
            await withCheckedContinuation { done in store.whenWritten { done.resume() } }
        }
    }

    private func decision(_ app: String, _ permission: Permission, _ duration: Duration = .always) -> Decision {
        Decision(
            app: AppID(app)!, permission: permission, verdict: .grant, duration: duration, decided: 1, by: .permctl)
    }

    /// More apps than fit into a slice, with persistent and session decisions interleaved.
    private var many: [Decision] {
        (0..<200).map { decision("exe:/app\($0)", .camera) }
            + (0..<200).filter { $0 % 3 == 0 }.map { decision("exe:/app\($0)", .microphone) }
            + (0..<100).map { decision("exe:/both\($0)", .camera, $0 % 2 == 0 ? .session : .always) }
            + (0..<150).map { decision("flatpak:org.example.A\($0)", .camera, .session) }
    }

    @Test(arguments: ["ListDecisions", "ListStatuses", "ListHistory"])
    func pagesArePartsOfTheWholeList(_ member: String) async throws {
        let fixture = try await Fixture()
        await fixture.decide(many)
        let whole = try await fixture.rows(member)
        let apps = Set(many.map(\.app)).sorted()
        switch member {
        case "ListDecisions":
            let expected = many.sorted { ($0.app, $0.permission) < ($1.app, $1.permission) }
            #expect(whole == expected.map { "\($0.app) \($0.permission.rawValue) grant -" })
        case "ListStatuses":
            let asked = whole.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
            #expect(asked == apps.flatMap { app in Permission.allCases.map { "\(app) \($0.rawValue)" } })
        default:
            #expect(whole == many.reversed().map { "\($0.app) \($0.permission.rawValue) - -" })
        }
        for (limit, offset) in [(1, 0), (0, 1), (64, 0), (100, 63), (300, 255), (256, 256), (0, 400), (5, 100_000)] {
            let page = try await fixture.rows(member, limit: limit, offset: offset)
            #expect(page == Array(whole.dropFirst(offset).prefix(limit == 0 ? .max : limit)))
        }
        await fixture.end()
    }

    // MARK: Bounds

    @Test func slicesAreBounded() async throws {
        let fixture = try await Fixture()
        await fixture.decide((0..<1000).map { decision("exe:/app\($0)", .camera) })
        for list in [PolicyInterface.decisionRows, PolicyInterface.historyRows] {
            let slices = try fixture.slices(list)
            #expect(slices.reduce(0, +) == 1000 && slices.count > 3)
            #expect(slices.allSatisfy { $0 <= Listings.sliceRows })
        }
        await fixture.end()
    }

    /// A service whose only method lists rows of one mebibyte. While `waits` is set, lists do not start.
    @LoopActor
    private final class Lists {
        let client: Connection
        var begin: [@LoopActor () -> Void] = []
        var waits = false
        /// How many slices without rows come first.
        var emptySlices = 0
        private let bus: PrivateBus
        private let service: Connection
        private let server: ObjectServer
        private let listings = Listings { _ in true }

        static let row: Listings.Row = ["text": .string(String(repeating: "x", count: 1 << 20))]

        init() async throws {
            bus = try await PrivateBus()
            service = try bus.connect()
            client = try bus.connect()
            server = ObjectServer(connection: service) { call, _ in call.fail(.invalidArguments) }
            let list = Method(
                name: "List", inputs: ["rows": "u", "filler": "s"],
                outputs: ["rows": "aa{sv}"]
            ) { [unowned self] in add($0) }
            server.add(Interface(name: "org.example.Lists", methods: [list]), at: "/")
        }

        private func add(_ call: MethodCall) {
            var left = call.arguments[0].uint32Value ?? 0
            let prepare: @LoopActor (@escaping @LoopActor () -> Void) -> Void = { [unowned self] ready in
                if waits { begin.append(ready) } else { ready() }
            }
            listings.add(call, after: prepare) {
                { [unowned self] () throws(PermissionError) in
                    if emptySlices > 0 {
                        emptySlices -= 1
                        return []
                    }
                    defer { left = left > 0 ? left - 1 : 0 }
                    return left > 0 ? [Lists.row] : nil
                }
            }
        }

        func message(_ rows: UInt32, _ filler: String = "") -> Message {
            .call(
                destination: service.uniqueName, path: "/", interface: "org.example.Lists", member: "List",
                [.uint32(rows), .string(filler)])
        }

        var ping: Message {
            .call(
                destination: service.uniqueName, path: "/", interface: StandardInterfaces.peer, member: "Ping", [])
        }

        func connect() throws -> Connection { try bus.connect() }

        func list(_ rows: UInt32) async throws(BusError) -> Int? {
            try await client.call(message(rows), timeoutMilliseconds: nil).body.first?.rows?.count
        }

        func end() async {
            client.close()
            service.close()
            await bus.stop()
        }
    }

    /// One list is in progress and three calls of one mebibyte wait; a fourth exceeds the limit of one caller.
    @Test func waitingListsAreBounded() async throws {
        let lists = try await Lists()
        lists.waits = true
        let answers = EventLog<String>()
        let filler = String(repeating: "x", count: 1 << 20)
        for _ in 0..<8 {
            lists.client.call(lists.message(1, filler), timeoutMilliseconds: nil) { result in
                switch result {
                case .success: answers.add("rows")
                case .failure(let error): answers.add(error.name)
                }
            }
        }
        let refusals = Array(repeating: ErrorKind.limitExceeded.name, count: 4)
        #expect(try await answers.wait(for: 4) == refusals)
        lists.waits = false
        for ready in lists.begin { ready() }
        #expect(try await answers.wait(for: 8) == refusals + Array(repeating: "rows", count: 4))
        await lists.end()
    }

    /// A list that ends only when others have been answered meanwhile.
    @Test func otherCallsAreServedBetweenSlices() async throws {
        let lists = try await Lists()
        let other = try lists.connect()
        lists.emptySlices = .max
        let ends = EventLog<Int?>()
        lists.client.call(lists.message(2), timeoutMilliseconds: nil) { result in
            ends.add((try? result.get())?.body.first?.rows?.count)
        }
        for _ in 0..<20 { _ = try await other.call(lists.ping) }
        #expect(ends.all.isEmpty)
        lists.emptySlices = 0
        #expect(try await ends.wait(for: 1) == [2])
        other.close()
        await lists.end()
    }

    @Test func aListThatIsTooLarge() async throws {
        let lists = try await Lists()
        #expect(try await lists.list(3) == 3)
        let error = await #expect(throws: BusError.self) { try await lists.list(40) }
        #expect(error?.name == ErrorKind.limitExceeded.name)
        #expect(error?.message.contains("limit and offset") == true)
        #expect(try await lists.list(2) == 2)
        await lists.end()
    }
}
