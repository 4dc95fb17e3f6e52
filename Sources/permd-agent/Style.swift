// What libadwaita's style sheet does not have: the page's texts, and the smaller sizes that a page may take.

import CAdwaita

enum Style {
    /// Adds the style sheet to the display, once.
    static func install() {
        guard !isInstalled else { return }
        isInstalled = true
        cadw_style(sheet)
    }

    // SAFETY: accessed only on GTK's thread.
    nonisolated(unsafe) private static var isInstalled = false

    private static let sheet = """
        @keyframes appear { from { opacity: 0; } }
        window.permd.solid-csd { padding: 0; }
        window.permd.layer { border-radius: 12px; box-shadow: inset 0 0 0 1px alpha(currentColor, 0.3); }
        window.permd .page { animation: appear 150ms ease-out; }
        window.permd .title { font-weight: bold; font-size: 1.2em; }
        window.permd .title:focus { outline: none; }
        window.permd .reason { font-style: italic; }
        window.permd .page button.asleep { opacity: 0.5; }
        window.permd .page checkbutton { padding: 3px; }
        window.permd .page.compact .title { font-size: 1.05em; }
        window.permd .page.compact button { padding: 2px 8px; }
        window.permd .page.small { font-size: 0.85em; }
        window.permd .page.smaller { font-size: 0.7em; }
        window.permd .page.smallest { font-size: 0.55em; }
        window.permd .page.small button, window.permd .page.smaller button, window.permd .page.smallest button {
            padding: 1px 6px;
            min-height: 16px;
        }
        """
}
