// The address of a bus.

import CDBus
import Glibc

public enum BusAddress: Sendable, Hashable {
    /// `$DBUS_SESSION_BUS_ADDRESS`, or else the user bus in `$XDG_RUNTIME_DIR`.
    case session
    /// `$DBUS_SYSTEM_BUS_ADDRESS`, or else the well-known socket.
    case system
    case address(String)

    var text: String? {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        switch self {
        case .address(let address): return address
        case .session:
            return variable("DBUS_SESSION_BUS_ADDRESS") ?? variable("XDG_RUNTIME_DIR").flatMap(socketInFolder)
        case .system: return variable("DBUS_SYSTEM_BUS_ADDRESS") ?? "unix:path=/var/run/dbus/system_bus_socket"
        }
    }

    private func socketInFolder(_ folder: String) -> String? {
        guard let escaped = dbus_address_escape_value(folder + "/bus") else { return nil }
        defer { dbus_free(escaped) }
        return "unix:path=" + String(cString: escaped)
    }
}
