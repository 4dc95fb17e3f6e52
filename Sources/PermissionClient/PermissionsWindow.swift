// Opens permd-settings, the window Permissions.

import DBus
import PermissionModel
import System

extension PermissionSettings {
    /// Whether the bus can start the window.
    package func hasWindow() async -> Bool {
        (try? await BusLink.shared(bus, identifiesDaemon: true).canStart(BusNames.settingsService)) == true
    }

    /// - Parameters:
    ///   - app: The app whose page is shown; nil for the whole window.
    ///   - token: Lets the window come to the front (xdg-activation); may be empty.
    package func openWindow(at app: String? = nil, token: String) async {
        try? await BusLink.shared(bus, identifiesDaemon: true).openWindow(app, token)
    }
}

extension BusLink {
    fileprivate func openWindow(_ app: String?, _ token: String) async throws(ClientError) {
        try await open().send(.openSettings(at: app, token: token, noReply: true))
    }
}

extension PermissionCenter {
    /// Shows the user the app's own page of the window *Permissions*, for example after `denied`.
    ///
    /// Calls org.permd.Access1.OpenSettings. Call it only when the user has asked for it.
    ///
    /// - Parameter activationToken: Lets the window come to the front (xdg-activation); may be empty.
    /// - Throws: ``ClientError``: `notSupported` if no settings program is installed, `limitExceeded` within ten seconds
    ///   after the last time, `noAgent` while nobody is in front of the screen.
    public func openSettings(activationToken: String = "") async throws(ClientError) {
        let options: [String: Value] = activationToken.isEmpty ? [:] : ["activation_token": .string(activationToken)]
        _ = try await BusLink.shared(bus).call(BusNames.access, "OpenSettings", [.properties(options)])
    }
}
