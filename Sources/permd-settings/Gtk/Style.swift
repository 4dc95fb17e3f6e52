// What libadwaita's style sheet does not have.

import CAdwaita

@MainActor
enum Style {
    static func install() {
        cadw_style(
            """
            listview.permd-list { background: none; }
            listview.permd-list > row { padding: 4px 6px; margin: 1px 12px; border-radius: 9px; }
            flowbox > flowboxchild { padding: 0; }
            .permd-bar { background: @accent_bg_color; border-radius: 2px; }
            .permd-bar.permd-ungranted { background: @error_bg_color; }
            .permd-bar.permd-none { background: alpha(currentColor, 0.2); }
            .permd-subtitle { opacity: 0.65; font-size: smaller; }
            """)
    }
}
