// Opens permd-settings, the window Permissions.

import DBus
package import PermissionClient
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
