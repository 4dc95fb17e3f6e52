// The window's style sheets: one for the page, added to any theme, and one that replaces GTK's own theme.

enum StyleSheet {
    static let page = """
        @keyframes appear { from { opacity: 0; } }
        window.permd .page { animation: appear 150ms ease-out; }
        window.permd .title { font-weight: bold; font-size: 1.2em; }
        window.permd .title:focus { outline: none; }
        window.permd .heading { font-weight: bold; }
        window.permd .reason { font-style: italic; }
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

    /// Colours have the names of GTK's theme, so that the person's `gtk.css` can use and change them.
    ///
    /// - Parameter accent: Red, green and blue from 0 to 1; nil for GTK's own accent color.
    static func theme(isDark: Bool, isHighContrast: Bool = false, accent: [Double]? = nil) -> String {
        (isDark ? dark : light) + accentColors(accent) + rules + (isHighContrast ? highContrast : "")
    }

    private static func accentColors(_ accent: [Double]?) -> String {
        guard let accent else {
            return """
                @define-color theme_selected_bg_color #3584e4;
                @define-color theme_selected_fg_color #ffffff;

                """
        }
        let bytes = accent.map { Int(($0 * 255).rounded()) }
        // Relative luminance, roughly: on light colors the text is dark.
        let luminance = 0.2126 * accent[0] + 0.7152 * accent[1] + 0.0722 * accent[2]
        return """
            @define-color theme_selected_bg_color rgb(\(bytes[0]), \(bytes[1]), \(bytes[2]));
            @define-color theme_selected_fg_color \(luminance > 0.6 ? "#000000" : "#ffffff");

            """
    }

    private static let highContrast = """

        @define-color borders @theme_fg_color;
        @define-color insensitive_fg_color @theme_fg_color;
        .dim-label { opacity: 1; }
        button.flat { border-color: @theme_fg_color; }
        button:disabled { border-style: dashed; }
        check, radio, switch { border: 2px solid @theme_fg_color; }
        button:focus:focus-visible, checkbutton:focus:focus-visible, switch:focus:focus-visible,
        expander-widget:focus:focus-visible > box > title { outline: 3px solid @theme_fg_color; }
        """

    private static let light = """
        @define-color theme_bg_color #f6f5f4;
        @define-color theme_fg_color #2e3436;
        @define-color theme_base_color #ffffff;
        @define-color theme_text_color #1c1f20;
        @define-color insensitive_fg_color #8b8e8f;
        @define-color borders #cdc7c2;
        @define-color permd_button #fdfcfc;
        @define-color permd_hover #ffffff;
        @define-color permd_pressed #dad6d2;
        @define-color permd_titlebar #e4e0dc;

        """

    private static let dark = """
        @define-color theme_bg_color #353535;
        @define-color theme_fg_color #eeeeec;
        @define-color theme_base_color #2d2d2d;
        @define-color theme_text_color #ffffff;
        @define-color insensitive_fg_color #919190;
        @define-color borders #1b1b1b;
        @define-color permd_button #424242;
        @define-color permd_hover #4b4b4b;
        @define-color permd_pressed #262626;
        @define-color permd_titlebar #2b2b2b;

        """

    private static let rules = """
        @define-color accent_bg_color @theme_selected_bg_color;
        @define-color accent_fg_color @theme_selected_fg_color;
        @define-color window_bg_color @theme_bg_color;
        @define-color window_fg_color @theme_fg_color;

        * {
            padding: 0;
            -gtk-icon-style: symbolic;
            outline: 0 solid transparent;
            outline-offset: -3px;
        }
        window { background-color: @theme_bg_color; color: @theme_fg_color; }
        label:disabled, image:disabled { color: @insensitive_fg_color; }
        .dim-label { opacity: 0.65; }
        .page image { -gtk-icon-style: regular; }
        .page image.kind { -gtk-icon-style: symbolic; }

        button {
            min-height: 24px;
            min-width: 16px;
            padding: 4px 10px;
            border: 1px solid @borders;
            border-radius: 5px;
            background-color: @permd_button;
            color: @theme_fg_color;
        }
        button:hover { background-color: @permd_hover; }
        button:active { background-color: @permd_pressed; }
        button:disabled { background-color: @theme_bg_color; color: @insensitive_fg_color; }
        button.flat { border-color: transparent; background-color: transparent; }
        button.flat:hover { background-color: alpha(@theme_fg_color, 0.08); }
        button.flat:active { background-color: alpha(@theme_fg_color, 0.16); }
        button.suggested-action {
            border-color: @theme_selected_bg_color;
            background-color: @theme_selected_bg_color;
            color: @theme_selected_fg_color;
        }
        button.suggested-action:hover { background-color: mix(@theme_selected_bg_color, @theme_selected_fg_color, 0.1); }
        button.suggested-action:active { background-color: mix(@theme_selected_bg_color, #000000, 0.2); }
        button.suggested-action:disabled {
            border-color: @borders;
            background-color: @theme_bg_color;
            color: @insensitive_fg_color;
        }
        button:focus:focus-visible, checkbutton:focus:focus-visible, switch:focus:focus-visible,
        expander-widget:focus:focus-visible > box > title {
            outline: 2px solid alpha(@theme_selected_bg_color, 0.7);
        }

        tooltip {
            padding: 4px 8px;
            border-radius: 5px;
            background-color: rgba(0, 0, 0, 0.85);
            color: #ffffff;
        }

        switch {
            min-width: 40px;
            border-radius: 14px;
            border: 1px solid @borders;
            background-color: alpha(@theme_fg_color, 0.2);
        }
        switch:checked { background-color: @theme_selected_bg_color; border-color: @theme_selected_bg_color; }
        switch > slider {
            min-width: 20px;
            min-height: 20px;
            border-radius: 50%;
            background-color: @theme_base_color;
            border: 1px solid @borders;
        }
        switch > image { color: transparent; }
        switch:checked > slider { background-color: @theme_selected_fg_color; }
        expander-widget > box > title { border-spacing: 4px; border-radius: 5px; }
        expander { min-width: 16px; min-height: 16px; -gtk-icon-source: -gtk-icontheme("pan-end-symbolic"); }
        expander:checked { -gtk-icon-source: -gtk-icontheme("pan-down-symbolic"); }

        checkbutton { border-radius: 5px; padding: 4px; border-spacing: 8px; }
        check, radio {
            min-height: 14px;
            min-width: 14px;
            border: 1px solid alpha(@theme_fg_color, 0.45);
            background-color: @theme_base_color;
            -gtk-icon-size: 14px;
        }
        check { border-radius: 3px; }
        radio { border-radius: 50%; }
        check:checked, radio:checked {
            border-color: @theme_selected_bg_color;
            background-color: @theme_selected_bg_color;
            color: @theme_selected_fg_color;
        }
        check:checked { -gtk-icon-source: -gtk-icontheme("object-select-symbolic"); }
        radio:checked { background-image: radial-gradient(circle, @theme_selected_fg_color 30%, transparent 36%); }

        scrollbar { background-color: transparent; }
        scrollbar slider {
            min-width: 6px;
            min-height: 40px;
            margin: 3px;
            border-radius: 4px;
            background-color: alpha(@theme_fg_color, 0.4);
        }
        scrollbar slider:hover { background-color: alpha(@theme_fg_color, 0.6); }
        scrollbar.overlay-indicator:not(.hovering) slider { min-width: 3px; }

        window.csd {
            border-radius: 8px 8px 0 0;
            box-shadow: 0 3px 9px 1px rgba(0, 0, 0, 0.35), 0 0 0 1px rgba(0, 0, 0, 0.2);
        }
        window.csd:backdrop {
            box-shadow: 0 3px 9px 1px transparent, 0 2px 6px 2px rgba(0, 0, 0, 0.2), 0 0 0 1px rgba(0, 0, 0, 0.18);
        }
        window.permd.csd { border-radius: 12px; }
        window.solid-csd { border-radius: 0; box-shadow: inset 0 0 0 1px @borders; }
        window.solid-csd > .titlebar { border-radius: 0; }
        headerbar {
            min-height: 40px;
            padding: 0 6px;
            border-bottom: 1px solid @borders;
            border-radius: 8px 8px 0 0;
            background-color: @permd_titlebar;
        }
        headerbar:backdrop { background-color: @theme_bg_color; }
        headerbar .title { font-weight: bold; padding: 0 12px; }
        windowcontrols { border-spacing: 3px; }
        windowcontrols > button { border-color: transparent; background-color: transparent; padding: 4px; }
        windowcontrols > button:hover { background-color: alpha(@theme_fg_color, 0.1); }
        window:backdrop .title, window:backdrop windowcontrols { opacity: 0.7; }
        """
}
