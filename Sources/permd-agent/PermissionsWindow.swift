// Opens permd-settings, the window Permissions, through the bus: a program that the agent started itself would be limited
// by the agent's unit and would end with it.

import CAdwaita

enum PermissionsWindow {
    private static let name = "org.permd.Settings"
    private static let path = "/org/permd/Settings"
    /// Milliseconds. The bus itself answers; a bus that does not is left alone.
    private static let patience: gint = 500

    /// Whether the bus can start it.
    static func isInstalled() -> Bool {
        guard let bus = g_bus_get_sync(G_BUS_TYPE_SESSION, nil, nil) else { return false }
        defer { g_object_unref(UnsafeMutableRawPointer(bus)) }
        let reply = g_dbus_connection_call_sync(
            bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ListActivatableNames", nil,
            nil, G_DBUS_CALL_FLAGS_NONE, patience, nil, nil)
        guard let reply, let names = g_variant_get_child_value(reply, 0) else { return false }
        defer {
            g_variant_unref(names)
            g_variant_unref(reply)
        }
        guard let list = g_variant_get_strv(names, nil) else { return false }
        defer { g_free(list) }
        return g_strv_contains(list, name) != 0
    }

    /// Opens the page of an app: `ActivateAction` of `org.freedesktop.Application` (Desktop Entry Specification).
    static func open(at app: String) {
        guard let bus = g_bus_get_sync(G_BUS_TYPE_SESSION, nil, nil) else { return }
        defer { g_object_unref(UnsafeMutableRawPointer(bus)) }
        let parameters = cadw_action_call("app", app, token())
        g_dbus_connection_call(
            bus, name, path, "org.freedesktop.Application", "ActivateAction", parameters, nil, G_DBUS_CALL_FLAGS_NONE,
            -1, nil, nil, nil)
    }

    /// Lets the window come to the front (xdg-activation, startup notification); empty if that cannot be had.
    private static func token() -> String {
        guard let display = gdk_display_get_default(), let context = gdk_display_get_app_launch_context(display)
        else { return "" }
        defer { g_object_unref(UnsafeMutableRawPointer(context)) }
        guard let token = cadw_launch_token(context, "permd-settings") else { return "" }
        defer { g_free(token) }
        return String(cString: token)
    }
}
