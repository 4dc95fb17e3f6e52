// The bus on which to find the daemon. Also exports PermissionModel, whose types are part of the API.

import DBus
@_exported public import PermissionModel

/// The bus on which to find the daemon.
public enum PermissionBus: Sendable, Hashable {
    /// The session bus: `$DBUS_SESSION_BUS_ADDRESS`, or the user's bus in `$XDG_RUNTIME_DIR` if that is not set.
    case session
    /// The bus at a D-Bus server address, such as `unix:path=/run/user/1000/bus`.
    case address(String)

    var address: BusAddress {
        switch self {
        case .session: .session
        case .address(let text): .address(text)
        }
    }
}
