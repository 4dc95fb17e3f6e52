// How the window looks: as the person's theme says. What stands in for GTK's own theme is StyleSheet.swift.

import CGtk
import Glibc

/// GTK reads the whole of its theme before the first window can be there, which takes longer than all else that it does
/// until then. A prompt needs a twentieth of it. Other themes, high contrast and the person's own `gtk.css` are
/// read as in any GTK program.
enum Style {
    /// Themes that are GTK's own, by their names in the settings; the others stand in files.
    private static let standard: Set<String> = ["", "Default", "Adwaita", "Adwaita-dark", "Default-dark"]

    /// Before GTK starts: has it read no theme, unless the person has named one for all programs in `$GTK_THEME`.
    static func prepare() {
        if let chosen = getenv("GTK_THEME"), chosen.pointee != 0 { return }
        setenv("GTK_THEME", "Empty", 1)
        isOurs = true
    }

    /// For the display, once.
    static func install() {
        guard !isInstalled, let display = gdk_display_get_default() else { return }
        isInstalled = true
        let page = gtk_css_provider_new()!
        cgtk_css_load(page, StyleSheet.page)
        add(page, display, UInt32(GTK_STYLE_PROVIDER_PRIORITY_APPLICATION))
        guard isOurs, let settings = gtk_settings_get_for_display(display) else { return }
        let theme = gtk_css_provider_new()!
        Style.theme = theme
        load()
        add(theme, display, UInt32(cgtk_theme_priority()))
        for setting in ["gtk-theme-name", "gtk-application-prefer-dark-theme"] {
            cgtk_connect(UnsafeMutableRawPointer(settings), "notify::\(setting)", { _ in Style.load() }, nil)
        }
    }

    private static func add(
        _ provider: UnsafeMutablePointer<GtkCssProvider>, _ display: OpaquePointer, _ priority: UInt32
    ) {
        gtk_style_context_add_provider_for_display(display, cgtk_style_provider(provider), priority)
    }

    /// What the settings say now.
    private static func load() {
        guard let theme, let display = gdk_display_get_default(), let settings = gtk_settings_get_for_display(display)
        else { return }
        var name = ""
        if let text = cgtk_theme_name(settings) {
            name = String(cString: text)
            g_free(text)
        }
        let isDark = cgtk_prefers_dark(settings) != 0
        if standard.contains(name) {
            let sheet = StyleSheet.theme(isDark: isDark || name.hasSuffix("-dark"))
            cgtk_css_load(theme, sheet)
        } else {
            gtk_css_provider_load_named(theme, name, isDark ? "dark" : nil)
        }
    }

    // SAFETY: touched on GTK's thread alone, the first before there is another.
    nonisolated(unsafe) private static var isOurs = false
    nonisolated(unsafe) private static var isInstalled = false
    nonisolated(unsafe) private static var theme: UnsafeMutablePointer<GtkCssProvider>?
}
