// Lists that come in pages: they are complete, although a page may have fewer rows than there is room for.

import DBus
import PermissionClient
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
@LoopActor
struct ListTests {
    /// A daemon with this many rows, of which it cannot read two of three.
    private static let rows = 5000
    private static func isReadable(_ number: Int) -> Bool { number % 3 == 0 }

    private func daemon(_ bus: PrivateBus) throws -> FakeService {
        let service = try FakeService(on: bus)
        service.add(
            BusNames.policy, at: BusNames.root,
            [
                Method(name: "ListDecisions", inputs: ["filter": "a{sv}"], outputs: ["decisions": "aa{sv}"]) { call in
                    let filter = call.arguments[0].properties
                    let offset = min(Int(filter?["offset"]?.uint32Value ?? 0), ListTests.rows)
                    let limit = Int(filter?["limit"]?.uint32Value ?? 0)
                    let page = (offset..<min(offset + min(limit, 1024), ListTests.rows)).filter(ListTests.isReadable)
                    call.reply(
                        .rows(
                            page.map {
                                [
                                    "app": .string("exe:/a\($0)"), "permission": .string("camera"),
                                    "decision": .string("grant"), "duration": .string("always"),
                                    "decided": .uint64(1), "by": .string("person"),
                                ]
                            }))
                }
            ])
        try service.own(BusNames.service)
        return service
    }

    @Test(arguments: [0, 1, 10, 400, 1024, 1200, 5000])
    func aShortPageIsNotTheEnd(_ limit: Int) async throws {
        let bus = try await PrivateBus()
        let service = try daemon(bus)
        let settings = PermissionSettings(bus: .address(bus.address))
        let all = (0..<ListTests.rows).filter(ListTests.isReadable).map { "exe:/a\($0)" }
        let found = try await settings.decisions(limit: limit).map(\.app.description)
        #expect(found == Array(all.prefix(limit == 0 ? .max : limit)))
        await service.end()
        await bus.end()
    }
}
