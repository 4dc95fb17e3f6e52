// The table of requests in flight: adding, finding and removing a request are one step each.

import DBus
import PermissionCore
import PermissionModel
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct InFlightRequestsTests {
    private final class Origin: RequestOrigin {
        func accept() {}
        func refuse(_ error: PermissionError) {}
        func moved(_ state: RequestState, position: Int) {}
        func respond(_ reply: Reply, isStopping: Bool) {}
        func forget() {}
    }

    private let caller = Caller(
        connection: ":1.9", app: AppID("exe:/usr/bin/a")!, process: ProcessKey(pid: 1, startTime: 1))

    private func request(_ id: RequestID, _ path: String) -> AccessRequest {
        AccessRequest(id: id, path: path, caller: caller, questions: [.permission(.camera)], arrived: 0)
    }

    @Test func aRequestIsFoundByItsNumberAndItsPath() {
        let table = InFlightRequests(after: nil)
        let origins = [Origin(), Origin()]
        for (number, origin) in origins.enumerated() {
            let next = table.nextID
            let id = table.newID()
            #expect(id == next)
            table.add(request(id, "/r\(number)"), from: origin)
        }
        for (number, origin) in origins.enumerated() {
            let entry = table["/r\(number)"]
            #expect(entry?.origin === origin && table[RequestID(UInt64(number + 1))]?.origin === origin)
        }
        #expect(table.all { $0.request.path == "/r1" }.count == 1)
        #expect(table.remove(RequestID(1))?.request.path == "/r0")
        #expect(table["/r0"] == nil && table[RequestID(1)] == nil && table.remove(RequestID(1)) == nil)
        #expect(table["/r1"] != nil)
        // Numbers continue after a lost connection, so that no path names two requests.
        #expect(InFlightRequests(after: table).newID() == RequestID(3))
    }

    @Test func aStateIsReportedOnce() {
        let table = InFlightRequests(after: nil)
        let id = table.newID()
        table.add(request(id, "/r"), from: Origin())
        #expect(table[id]?.told == nil)
        #expect(table.tell(id, .queued) && !table.tell(id, .queued))
        #expect(table.tell(id, .showing) && !table.tell(id, .showing) && table.tell(id, .queued))
    }
}
