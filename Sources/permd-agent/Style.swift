// The window's style, which follows the person's theme. StyleSheet.swift has the replacement for GTK's own theme.

import CGtk
import Glibc

/// GTK reads its whole theme before it can show the first window, which takes longer than the rest of its start. A
/// prompt needs a twentieth of that theme, so a small style sheet replaces it. Other themes, high contrast and the
/// person's `gtk.css` are read as in any GTK program.
enum Style {
    /// The names of GTK's own themes in the settings; other themes are read from files.
    private static let standard: Set<String> = ["", "Default", "Adwaita", "Adwaita-dark", "Default-dark"]

    /// Called before GTK starts: prevents it from reading a theme, unless `$GTK_THEME` names one for all programs.
    static func prepare() {
        if let chosen = getenv("GTK_THEME"), chosen.pointee != 0 { return }
        setenv("GTK_THEME", "Empty", 1)
        isOurs = true
    }

    /// Adds the style sheets to the display, once.
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

    /// Loads the theme that the settings and the desktop's appearance name now.
    static func load() {
        guard let theme, let display = gdk_display_get_default(), let settings = gtk_settings_get_for_display(display)
        else { return }
        var name = ""
        if let text = cgtk_theme_name(settings) {
            name = String(cString: text)
            g_free(text)
        }
        let look = Appearance.current
        let isDark = look.isDark ?? (cgtk_prefers_dark(settings) != 0 || name.hasSuffix("-dark"))
        if standard.contains(name) {
            cgtk_css_load(
                theme, StyleSheet.theme(isDark: isDark, isHighContrast: look.isHighContrast, accent: look.accent))
        } else {
            gtk_css_provider_load_named(theme, name, isDark ? "dark" : nil)
        }
    }

    /// Nothing moves or fades any more.
    static func stopMotion() {
        if let display = gdk_display_get_default(), let settings = gtk_settings_get_for_display(display) {
            cgtk_stop_animations(settings)
        }
    }

    // SAFETY: accessed only on GTK's thread; `isOurs` is set before any other thread exists.
    nonisolated(unsafe) private static var isOurs = false
    nonisolated(unsafe) private static var isInstalled = false
    nonisolated(unsafe) private static var theme: UnsafeMutablePointer<GtkCssProvider>?
}
