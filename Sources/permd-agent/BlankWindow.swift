// A window before its prompt: built while nobody waits, so that a prompt only fills and shows it.

import CGtk

/// One for each prompt: nothing of the last one, its size or its focus, is left in it. Lives on GTK's thread.
final class BlankWindow {
    static let width: Int32 = 420

    private var window: UnsafeMutablePointer<GtkWidget>?

    /// Everything but the page: style, surface, size. It is not on the screen, nor does assistive technology show it.
    init() {
        Style.install()
        let window = gtk_window_new()!
        gtk_window_set_title(cgtk_window(window), Texts.text("Permission request"))
        gtk_window_set_default_size(cgtk_window(window), BlankWindow.width, -1)
        gtk_widget_add_css_class(window, "permd")
        gtk_widget_realize(window)
        self.window = window
    }

    deinit {
        if let window { gtk_window_destroy(cgtk_window(window)) }
    }

    /// Reads what only a page needs: once for the program is enough.
    func rehearse() {
        guard let window else { return }
        _ = PromptPage(rehearsalIn: window)
    }

    /// The window is the taker's, who destroys it.
    func take() -> UnsafeMutablePointer<GtkWidget> {
        guard let window else { preconditionFailure("a blank window is filled once") }
        self.window = nil
        return window
    }
}
