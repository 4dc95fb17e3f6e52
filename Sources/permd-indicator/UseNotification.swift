// The notifications of the indicator: what each is about, and what can be chosen in it.

import DesktopServices

typealias Notification = DesktopServices.Notification<Command>
typealias UseServer = NotificationServer<NotificationKey, Command>

enum NotificationKey: Sendable, Hashable {
    case use(UsedPermission)
    case grant(UsedPermission)
    case takenBack
    case failure
}

extension Command: NotificationCommand {
    /// The name of its action, which the server repeats.
    var actionName: String {
        switch self {
        case .stop: "stop"
        case .turn: "switch"
        case .openPermissions: "permissions"
        case .undo, .giveBack: "undo"
        }
    }
}
