// Opens permd-settings, the window Permissions, if it is installed (Desktop Entry Specification, "D-Bus Activation").

import DBus

@LoopActor
final class PermissionsWindow {
    private static let name = "org.permd.Settings"
    private static let path = "/org/permd/Settings"

    private let connection: Connection
    private(set) var isInstalled = false
    /// Called when it was found to be installed.
    var onFound: @LoopActor () -> Void = {}

    init(_ connection: Connection) { self.connection = connection }

    func find() {
        connection.askBus("ListActivatableNames") { [weak self] names in
            guard let self, names?.strings?.contains(PermissionsWindow.name) == true else { return }
            isInstalled = true
            onFound()
        }
    }

    /// - Parameter token: Lets the window come to the front (xdg-activation); may be empty.
    func open(token: String) {
        guard isInstalled else { return }
        let platform: [String: Value] =
            token.isEmpty ? [:] : ["activation-token": .string(token), "desktop-startup-id": .string(token)]
        connection.send(
            .call(
                destination: PermissionsWindow.name, path: PermissionsWindow.path,
                interface: "org.freedesktop.Application", member: "Activate", [.properties(platform)], noReply: true))
    }
}
