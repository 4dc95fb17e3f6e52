// Where the daemon is looked for, and the words that come with it.

import DBus
@_exported public import PermissionModel

/// The bus an app, a settings program or an agent talks on.
public enum PermissionBus: Sendable, Hashable {
    /// `$DBUS_SESSION_BUS_ADDRESS`, else the user's bus in `$XDG_RUNTIME_DIR`.
    case session
    /// A D-Bus server address, as `unix:path=/run/user/1000/bus`.
    case address(String)

    var address: BusAddress {
        switch self {
        case .session: .session
        case .address(let text): .address(text)
        }
    }
}
