// The requests that the queue holds: numbers, paths and places.

import PermissionCore
import PermissionModel
import Testing

@Suite
struct QueueRequestsTests {
    private static func request(_ id: RequestID) -> Request {
        let caller = Caller(
            connection: ":1.9", app: AppID("exe:/usr/bin/a")!, process: ProcessKey(pid: 1, startTime: 1))
        return Request(
            id: id, path: "/r\(id.number)", caller: caller, items: [.camera], arrived: 0, requester: NoRequester())
    }

    @Test func requestsAreFoundUntilTheyEnd() {
        var queue = Queue(configuration: Configuration())
        let now = Instant(epoch: 0, uptime: 0)
        let ids = [queue.newID(), queue.newID()]
        for id in ids { _ = queue.handle(.requested(Self.request(id)), at: now, in: FakeFacts()) }
        #expect(queue.requests.map(\.id) == ids && queue.requests.map { $0.place?.position } == [0, 1])
        #expect(queue.request(at: "/r2")?.id == ids[1] && queue.request(at: "/r3") == nil)
        _ = queue.handle(.closed(ids[0]), at: now, in: FakeFacts())
        #expect(queue.request(at: "/r1") == nil && queue.request(at: "/r2")?.place?.position == 0)
        // Numbers continue after a lost connection, so that no path names two requests.
        _ = queue.handle(.disconnected, at: now, in: FakeFacts())
        #expect(queue.requests.isEmpty && !ids.contains(queue.newID()))
    }
}
