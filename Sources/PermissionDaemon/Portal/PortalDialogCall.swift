// A call of AccessDialog, which is answered once, with 0, 1 or 2.

import DBus
import PermissionCore
import PermissionModel

@LoopActor
final class PortalDialogCall {
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

    private static func verdict(_ status: Status?) -> Verdict? {
        switch status {
        case .granted: .grant
        case .denied, .restricted: .deny
        case .unavailable, .undetermined, nil: nil
        }
    }

    /// Replies after the answer, which the portal may store, has been recorded.
    private func reply(_ verdict: Verdict?, _ chosen: [String: String]) {
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
        sync.record(key, for: caller, verdict) { [call] in call.reply(.uint32(response), .properties(results)) }
    }
}

extension PortalDialogCall: @LoopActor Requester {
    func accept() {}
    func moved(from old: QueuePlace, to new: QueuePlace) {}
    func refuse(_ error: PermissionError) { reply(nil, [:]) }
    func forget() { reply(nil, [:]) }

    func respond(_ reply: Reply) {
        let answer = reply.answers[key.item]
        let verdict =
            if let permission = key.item.permission {
                PortalDialogCall.verdict(reply.statuses[permission])
            } else {
                answer?.verdict
            }
        self.reply(verdict, answer?.choices ?? [:])
    }
}
