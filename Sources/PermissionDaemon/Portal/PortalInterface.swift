// org.freedesktop.impl.portal.Access, for xdg-desktop-portal: its dialogs become requests in the queue.
//
// Identifies the app by its connection, which the handle names, instead of relying on the portal's app ID.

import DBus
import Logging
import PermissionCore
import PermissionModel

@LoopActor
final class PortalInterface {
    /// The most choices of a dialog, and options of a choice, that fit on a screen.
    private static let maximumChoices = 16
    /// The most bytes of an app ID: the limit of bus names, which portals derive from app IDs.
    private static let maximumID = 255

    private let identifier: any CallerLookup
    private let sync: PortalStoreSync
    private let now: @Sendable () -> EpochSeconds
    private unowned let requests: any RequestSink
    /// Dialogs that are no requests yet, by handle: their caller is being identified.
    private var unidentified: [String: PortalDialogCall] = [:]

    init(
        identifier: any CallerLookup, sync: PortalStoreSync, now: @escaping @Sendable () -> EpochSeconds,
        requests: any RequestSink
    ) {
        self.identifier = identifier
        self.sync = sync
        self.now = now
        self.requests = requests
    }

    var access: Interface {
        Interface(
            name: BusNames.portalAccess,
            methods: [
                Method(
                    "AccessDialog",
                    [
                        "handle": "o", "app_id": "s", "parent_window": "s", "title": "s", "subtitle": "s", "body": "s",
                        "options": "a{sv}",
                    ],
                    returns: ["response": "u", "results": "a{sv}"], callers: .portal,
                    options: ["modal", "grant_label", "deny_label", "icon", "choices"]
                ) { [weak self] call throws(PermissionError) in try self?.accessDialog(call) }
            ])
    }

    /// Served at every path, because the portal may close a dialog while its caller is being identified.
    var request: Interface {
        Interface(
            name: BusNames.portalRequest,
            methods: [
                Method("Close", callers: .portal) { [weak self] call in
                    call.reply()
                    self?.close(call.path)
                }
            ])
    }

    private func accessDialog(_ call: MethodCall) throws(PermissionError) {
        guard let handle = call.arguments[0].objectPathValue else { throw PermissionError(.invalidArguments) }
        let id = call.string(1)
        let dialog = try PortalInterface.dialog(
            call.string(3), call.string(4), call.string(5), Options(call.arguments[6]))
        guard let name = BusNames.portalCaller(ofHandle: handle) else {
            throw PermissionError(.invalidArguments, "the handle \(quoted(handle)) does not name a caller")
        }
        guard id.utf8.count <= PortalInterface.maximumID else {
            throw PermissionError(.invalidArguments, "an app ID may have at most \(PortalInterface.maximumID) bytes")
        }
        guard unidentified[handle] == nil, requests.queue.request(at: handle) == nil else {
            throw PermissionError(.invalidArguments, "the dialog \(handle) is already open")
        }
        let key = PortalKey(appID: id, item: PortalKinds.item(icon: dialog.icon))
        let requester = PortalDialogCall(call, dialog, key, sync: sync)
        unidentified[handle] = requester
        let window = Request.isParentWindow(call.string(2)) ? call.string(2) : ""
        identifier.identify(name) { [weak self] caller in
            guard let self else { return }
            guard let caller else { return close(handle) }
            // The portal may have closed it meanwhile.
            guard unidentified[handle] === requester else { return }
            unidentified[handle] = nil
            ask(handle, requester, caller, window)
        }
    }

    private func ask(_ handle: String, _ requester: PortalDialogCall, _ caller: Caller, _ window: String) {
        requester.caller = caller
        var request = Request(
            id: requests.newID(), path: handle, caller: caller, items: [requester.key.item], arrived: now(),
            requester: requester)
        request.parentWindow = window
        request.dialog = requester.dialog
        requests.feed(.requested(request))
        if requests.queue.request(at: handle) != nil { sync.opened(requester.key, for: caller) }
    }

    /// Closes a dialog whose answer the portal, or the app, no longer needs.
    private func close(_ handle: String) {
        if let dialog = unidentified.removeValue(forKey: handle) { return dialog.forget() }
        if let request = requests.queue.request(at: handle), request.requester is PortalDialogCall {
            requests.feed(.closed(request.id))
        }
    }

    /// Closes the dialogs of a portal that has left the bus.
    func departed(_ name: String) {
        let asked = requests.queue.requests.filter { ($0.requester as? PortalDialogCall)?.portal == name }.map(\.path)
        let handles = unidentified.filter { $0.value.portal == name }.map(\.key) + asked
        for handle in handles { close(handle) }
    }

    // MARK: Decoding

    static func dialog(
        _ title: String, _ subtitle: String, _ body: String, _ options: Options
    ) throws(PermissionError) -> PortalDialog {
        _ = try options.bool("modal")
        return PortalDialog(
            title: SafeText.title(title), subtitle: SafeText.body(subtitle), body: SafeText.body(body),
            grantLabel: SafeText.title(try options.string("grant_label") ?? ""),
            denyLabel: SafeText.title(try options.string("deny_label") ?? ""),
            icon: SafeText.title(try options.string("icon") ?? ""), choices: try choices(options))
    }

    /// `a(ssa(ss)s)`: ID, label, options (ID, label), initial selection.
    private static func choices(_ options: Options) throws(PermissionError) -> [PortalChoice] {
        let rows = try options.structures("choices", "(ssa(ss)s)") ?? []
        guard rows.count <= maximumChoices else {
            throw PermissionError(.invalidArguments, "the dialog has too many choices: \(rows.count)")
        }
        var choices: [PortalChoice] = []
        for row in rows {
            let listed = (row[2].elements ?? []).compactMap(\.elements)
            guard listed.count <= maximumChoices else {
                throw PermissionError(.invalidArguments, "a choice has too many options: \(listed.count)")
            }
            choices.append(
                PortalChoice(
                    id: row[0].stringValue ?? "", label: SafeText.title(row[1].stringValue ?? ""),
                    options: listed.map {
                        PortalChoice.Option(
                            id: $0[0].stringValue ?? "", label: SafeText.title($0[1].stringValue ?? ""))
                    }, initial: row[3].stringValue ?? ""))
        }
        return choices
    }
}
