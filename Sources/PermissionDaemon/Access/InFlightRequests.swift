// The table of all requests in progress.

import DBus
import PermissionCore
import PermissionModel

/// The source of one request, which receives its answer: an app's request object or a portal's dialog.
@LoopActor
protocol RequestOrigin: AnyObject {
    /// The queue has taken the request.
    func accept()
    /// The queue has rejected the request. No other call follows.
    func refuse(_ error: PermissionError)
    func moved(_ state: RequestState, position: Int)
    /// Receives the answer. No other call follows.
    func respond(_ reply: Reply, isStopping: Bool)
    /// The request has ended without an answer. No other call follows.
    func forget()
}

struct InFlightRequest {
    let request: AccessRequest
    let origin: any RequestOrigin
    /// The state last sent to settings programs.
    var told: RequestState?
}

@LoopActor
final class InFlightRequests {
    private var requests: [RequestID: InFlightRequest] = [:]
    private var idOfPath: [String: RequestID] = [:]
    private var lastID: UInt64

    /// - Parameter old: The requests of the lost connection; IDs continue after theirs.
    init(after old: InFlightRequests?) { lastID = old?.lastID ?? 0 }

    /// The ID that `newID` returns next.
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

    /// The request with that object path, or portal handle.
    subscript(path: String) -> InFlightRequest? { idOfPath[path].flatMap { requests[$0] } }

    /// Records the state to send to settings programs. Returns false if it was the last one sent.
    func tell(_ id: RequestID, _ state: RequestState) -> Bool {
        let told = requests[id]?.told
        requests[id]?.told = state
        return told != state
    }

    func all(where isMeant: (InFlightRequest) -> Bool) -> [InFlightRequest] { requests.values.filter(isMeant) }
}
