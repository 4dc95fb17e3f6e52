// The portals' dialogs that wait for an answer: each is a call of AccessDialog, answered once with 0, 1 or 2.

import DBus
import Logging
import PermissionCore
import PermissionModel

@LoopActor
final class PortalDialogs: RequestKeeper {
    /// Responses as org.freedesktop.impl.portal.Access has them. The third is for every end that is nobody's word.
    private enum Response {
        static let granted: UInt32 = 0
        static let denied: UInt32 = 1
        static let ended: UInt32 = 2
    }

    struct Opened {
        let call: MethodCall
        let dialog: PortalDialog
        let key: PortalKey
        /// Nil until it is known who asks.
        var request: (id: RequestID, caller: Caller)?
    }

    private let connection: Connection
    private let answers: PortalAnswers
    private var byHandle: [String: Opened] = [:]
    private var handleOf: [RequestID: String] = [:]
    private var watches: [String: SignalToken] = [:]
    var onClose: (@LoopActor (RequestID) -> Void)?

    init(connection: Connection, answers: PortalAnswers) {
        self.connection = connection
        self.answers = answers
    }

    func open(
        _ handle: String, _ call: MethodCall, _ dialog: PortalDialog, _ key: PortalKey
    ) throws(PermissionError) {
        guard byHandle[handle] == nil else {
            throw PermissionError(.invalidArguments, "the dialog \(handle) is open already")
        }
        byHandle[handle] = Opened(call: call, dialog: dialog, key: key)
        let portal = call.sender
        guard watches[portal] == nil else { return }
        watches[portal] = connection.whenNameVanishes(portal) { [weak self] in self?.portalLeft(portal) }
    }

    func opened(_ handle: String) -> Opened? { byHandle[handle] }

    /// From now on it is that request of the queue.
    func begin(_ handle: String, _ id: RequestID, _ caller: Caller) {
        byHandle[handle]?.request = (id, caller)
        handleOf[id] = handle
    }

    /// The portal, or the app through it, wants no answer any more.
    func close(handle: String) {
        guard let opened = byHandle[handle] else { return }
        if let id = opened.request?.id {
            onClose?(id)
        } else {
            byHandle[handle] = nil
            end(opened, nil, [:])
        }
    }

    private func portalLeft(_ name: String) {
        watches.removeValue(forKey: name)?.cancel()
        for handle in byHandle.filter({ $0.value.call.sender == name }).keys.sorted() { close(handle: handle) }
    }

    // MARK: RequestKeeper

    func holds(_ id: RequestID) -> Bool { handleOf[id] != nil }
    func accept(_ id: RequestID) {}
    func moved(_ id: RequestID, _ state: RequestState, _ position: Int) {}
    func refuse(_ id: RequestID, _ error: PermissionError) { forget(id) }

    func forget(_ id: RequestID) {
        guard let opened = remove(id) else { return }
        end(opened, nil, [:])
    }

    func respond(_ id: RequestID, _ reply: Reply, isStopping: Bool) {
        guard let opened = remove(id) else { return }
        let permission = opened.key.permission
        let answer = reply.answers[permission]
        if permission.isOfPortals {
            end(opened, answer?.verdict, answer?.choices ?? [:])
        } else {
            end(opened, PortalDialogs.verdict(reply.statuses[permission]), answer?.choices ?? [:])
        }
    }

    private static func verdict(_ status: Status?) -> Verdict? {
        switch status {
        case .granted: .grant
        case .denied, .restricted: .deny
        case .unavailable, .undetermined, nil: nil
        }
    }

    private func remove(_ id: RequestID) -> Opened? {
        handleOf.removeValue(forKey: id).flatMap { byHandle.removeValue(forKey: $0) }
    }

    /// What may be stored on our word is noted before the word is said.
    private func end(_ opened: Opened, _ verdict: Verdict?, _ chosen: [String: String]) {
        var results: [String: Value] = [:]
        if verdict != nil, !opened.dialog.choices.isEmpty {
            results["choices"] = .array(
                of: "(ss)",
                opened.dialog.selections(chosen).map { .structure([.string($0.id), .string($0.selection)]) })
        }
        let response: UInt32
        switch verdict {
        case .grant: response = Response.granted
        case .deny: response = Response.denied
        case nil: response = Response.ended
        }
        answers.note(opened.key, for: opened.request?.caller, verdict) {
            opened.call.reply(.uint32(response), .properties(results))
        }
    }
}
