// The requests under way: the one table that knows them.

import DBus
import PermissionCore
import PermissionModel

/// Where a request came from and its answer goes: an app's request object, or a portal's dialog. One for each request.
@LoopActor
protocol RequestOrigin: AnyObject {
    /// The queue has taken the request.
    func accept()
    /// The queue does not take it; nothing else follows.
    func refuse(_ error: PermissionError)
    func moved(_ state: RequestState, position: Int)
    /// The answer; nothing else follows.
    func respond(_ reply: Reply, isStopping: Bool)
    /// It ended without an answer; nothing else follows.
    func forget()
}

struct InFlightRequest {
    let request: AccessRequest
    let origin: any RequestOrigin
    /// What settings programs were told last.
    var told: RequestState?
}

@LoopActor
final class InFlightRequests {
    private var requests: [RequestID: InFlightRequest] = [:]
    private var idOfPath: [String: RequestID] = [:]
    private var lastID: UInt64

    /// - Parameter old: numbers go on after those of an earlier connection.
    init(after old: InFlightRequests?) { lastID = old?.lastID ?? 0 }

    /// What `newID` gives next.
    var nextID: RequestID { RequestID(lastID + 1) }

    func newID() -> RequestID {
        lastID += 1
        return RequestID(lastID)
    }

    func add(_ request: AccessRequest, from origin: any RequestOrigin) {
        requests[request.id] = InFlightRequest(request: request, origin: origin)
        idOfPath[request.path] = request.id
    }

    func remove(_ id: RequestID) -> InFlightRequest? {
        guard let request = requests.removeValue(forKey: id) else { return nil }
        idOfPath[request.request.path] = nil
        return request
    }

    subscript(id: RequestID) -> InFlightRequest? { requests[id] }

    /// The request with that object path, or of that portal's handle.
    subscript(path: String) -> InFlightRequest? { idOfPath[path].flatMap { requests[$0] } }

    /// Notes what settings programs are told; false when it is what they were told last.
    func tell(_ id: RequestID, _ state: RequestState) -> Bool {
        guard let told = requests[id]?.told else {
            requests[id]?.told = state
            return true
        }
        requests[id]?.told = state
        return told != state
    }

    func all(where isMeant: (InFlightRequest) -> Bool) -> [InFlightRequest] { requests.values.filter(isMeant) }
}
