// The portals' open dialogs. Each is a call of AccessDialog, which is answered once, with 0, 1 or 2.

import DBus
import Logging
import PermissionCore
import PermissionModel

/// A dialog, which becomes a request in the queue once its caller is identified.
@LoopActor
final class PortalDialogRequest: RequestOrigin {
    let dialog: PortalDialog
    let key: PortalKey
    private let call: MethodCall
    private let sync: PortalStoreSync
    /// Nil until the caller is identified.
    var caller: Caller?

    init(_ call: MethodCall, _ dialog: PortalDialog, _ key: PortalKey, sync: PortalStoreSync) {
        self.call = call
        self.dialog = dialog
        self.key = key
        self.sync = sync
    }

    /// The unique name of the portal.
    var portal: String { call.sender }

    func accept() {}
    func moved(_ state: RequestState, position: Int) {}
    func refuse(_ error: PermissionError) { end(nil, [:]) }
    func forget() { end(nil, [:]) }

    func respond(_ reply: Reply, isStopping: Bool) {
        let answer = reply.answers[key.question]
        let verdict =
            if let permission = key.question.permission {
                PortalDialogRequest.verdict(reply.statuses[permission])
            } else {
                answer?.verdict
            }
        end(verdict, answer?.choices ?? [:])
    }

    private static func verdict(_ status: Status?) -> Verdict? {
        switch status {
        case .granted: .grant
        case .denied, .restricted: .deny
        case .unavailable, .undetermined, nil: nil
        }
    }

    /// Replies after the answer, which the portal may store, has been recorded.
    private func end(_ verdict: Verdict?, _ chosen: [String: String]) {
        var results: [String: Value] = [:]
        if verdict != nil, !dialog.choices.isEmpty {
            results["choices"] = .array(
                of: "(ss)", dialog.selections(chosen).map { .structure([.string($0.id), .string($0.selection)]) })
        }
        // The responses of org.freedesktop.impl.portal.Access; 2 is for every end that the user did not choose.
        let response: UInt32 =
            switch verdict {
            case .grant: 0
            case .deny: 1
            case nil: 2
            }
        sync.note(key, for: caller, verdict) { [call] in call.reply(.uint32(response), .properties(results)) }
    }
}

@LoopActor
final class PortalDialogs {
    private let connection: Connection
    private let requests: InFlightRequests
    private let withdraw: @LoopActor (RequestID) -> Void
    /// Dialogs whose caller is being identified, by handle.
    private var unidentified: [String: PortalDialogRequest] = [:]
    private var watches: [String: Subscription] = [:]

    init(connection: Connection, requests: InFlightRequests, withdraw: @escaping @LoopActor (RequestID) -> Void) {
        self.connection = connection
        self.requests = requests
        self.withdraw = withdraw
    }

    func open(_ handle: String, _ dialog: PortalDialogRequest) throws(PermissionError) {
        guard unidentified[handle] == nil, requests[handle] == nil else {
            throw PermissionError(.invalidArguments, "the dialog \(handle) is already open")
        }
        unidentified[handle] = dialog
        let portal = dialog.portal
        guard watches[portal] == nil else { return }
        watches[portal] = connection.whenNameVanishes(portal) { [weak self] in self?.portalLeft(portal) }
    }

    /// Removes a dialog whose caller has been identified. Returns nil if it was closed meanwhile.
    func identified(_ handle: String, _ dialog: PortalDialogRequest) -> PortalDialogRequest? {
        guard unidentified[handle] === dialog else { return nil }
        return unidentified.removeValue(forKey: handle)
    }

    /// Closes a dialog whose answer the portal, or the app, no longer needs.
    func close(handle: String) {
        if let dialog = unidentified.removeValue(forKey: handle) { return dialog.forget() }
        if let entry = requests[handle], entry.origin is PortalDialogRequest { withdraw(entry.request.id) }
    }

    private func portalLeft(_ name: String) {
        watches.removeValue(forKey: name)?.cancel()
        let open = requests.all { ($0.origin as? PortalDialogRequest)?.portal == name }.map(\.request.path)
        for handle in (unidentified.filter { $0.value.portal == name }.map(\.key) + open).sorted() {
            close(handle: handle)
        }
    }
}
