// Follows the desktop's appearance: org.freedesktop.appearance of the Settings portal (dark, accent color, contrast and
// reduced motion).

import CGtk

/// Used only on GTK's thread.
struct Appearance: Equatable {
    /// Nil if the desktop says nothing; then GTK's own settings decide.
    var isDark: Bool?
    var isHighContrast = false
    /// Red, green and blue from 0 to 1.
    var accent: [Double]?

    // SAFETY: accessed only on GTK's thread.
    nonisolated(unsafe) private(set) static var current = Appearance()

    private static let name = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/portal/desktop"
    private static let interface = "org.freedesktop.portal.Settings"
    private static let namespace = "org.freedesktop.appearance"

    /// Reads the appearance and follows its changes, as soon as the bus answers.
    static func follow() {
        g_bus_get(
            G_BUS_TYPE_SESSION, nil,
            { _, result, _ in
                guard let bus = g_bus_get_finish(result, nil) else { return }
                Appearance.connected(bus)
            }, nil)
    }

    private static func connected(_ bus: OpaquePointer) {
        // The connection is kept for as long as the program runs.
        g_dbus_connection_set_exit_on_close(bus, 0)
        g_dbus_connection_signal_subscribe(
            bus, name, interface, "SettingChanged", path, namespace, G_DBUS_SIGNAL_FLAGS_NONE,
            { _, _, _, _, _, parameters, _ in
                guard let parameters, g_variant_n_children(parameters) == 3,
                    let key = Appearance.text(Appearance.child(parameters, 1))
                else { return }
                Appearance.current.take(key, Appearance.child(parameters, 2))
                Style.load()
            }, nil, nil)
        let arguments = cgtk_variant_namespaces(namespace)
        // The portal is not started for this: a desktop that has one runs it.
        g_dbus_connection_call(
            bus, name, path, interface, "ReadAll", arguments, nil, G_DBUS_CALL_FLAGS_NO_AUTO_START, 5000, nil,
            { source, result, _ in
                guard let source, let reply = g_dbus_connection_call_finish(OpaquePointer(source), result, nil)
                else { return }
                defer { g_variant_unref(reply) }
                Appearance.read(reply)
            }, nil)
    }

    /// `(a{sa{sv}})`, of which anything else is ignored.
    private static func read(_ reply: OpaquePointer) {
        guard String(cString: g_variant_get_type_string(reply)) == "(a{sa{sv}})" else { return }
        let groups = child(reply, 0)
        for group in 0..<g_variant_n_children(groups.variant) {
            let entry = child(groups.variant, group)
            guard text(child(entry.variant, 0)) == namespace else { continue }
            let settings = child(entry.variant, 1)
            for index in 0..<g_variant_n_children(settings.variant) {
                let setting = child(settings.variant, index)
                guard let key = text(child(setting.variant, 0)) else { continue }
                current.take(key, child(setting.variant, 1))
            }
        }
        Style.load()
    }

    private mutating func take(_ key: String, _ value: Variant) {
        let value = value.unpacked
        switch key {
        case "color-scheme":
            switch value.number {
            case 1: isDark = true
            case 2: isDark = false
            default: isDark = nil
            }
        case "contrast": isHighContrast = value.number == 1
        case "reduced-motion": if value.number == 1 { Style.stopMotion() }
        case "accent-color":
            let parts = value.fractions
            // Values out of range mean that there is none.
            accent = parts.count == 3 && parts.allSatisfy { (0...1).contains($0) } ? parts : nil
        default: break
        }
    }

    // MARK: GVariant

    /// A reference to a variant.
    private final class Variant {
        let variant: OpaquePointer
        init(_ variant: OpaquePointer) { self.variant = variant }
        deinit { g_variant_unref(variant) }

        /// The value within variants.
        var unpacked: Variant {
            guard type == "v", let inner = g_variant_get_variant(variant) else { return self }
            return Variant(inner).unpacked
        }

        var type: String { String(cString: g_variant_get_type_string(variant)) }
        var number: UInt32? { type == "u" ? g_variant_get_uint32(variant) : nil }
        var fractions: [Double] {
            guard type == "(ddd)" else { return [] }
            return (0..<3).map { g_variant_get_double(Appearance.child(variant, $0).variant) }
        }
    }

    private static func child(_ variant: OpaquePointer, _ index: Int) -> Variant {
        child(variant, gsize(index))
    }

    private static func child(_ variant: OpaquePointer, _ index: gsize) -> Variant {
        Variant(g_variant_get_child_value(variant, index))
    }

    private static func text(_ value: Variant) -> String? {
        guard value.type == "s", let text = g_variant_get_string(value.variant, nil) else { return nil }
        return String(cString: text)
    }
}
