// What a prompt says about the app on request: its identity, its sandbox, and what was decided before.

import CAdwaita
import DesktopServices
import PermissionClient
import PermissionTexts

final class DetailsBox {
    let expander: Widget
    let content: Widget
    /// Called when the details are shown or hidden.
    var onToggle: () -> Void = {}
    private let prompt: AgentPrompt
    /// Lives as long as the page does.
    private unowned let widgets: Widgets
    private var before: Widget?
    private var reading: Task<Void, Never>?

    init(_ prompt: AgentPrompt, _ widgets: Widgets) {
        self.prompt = prompt
        self.widgets = widgets
        expander = gtk_expander_new(Texts.text("Details"))!
        content = Widgets.box(GTK_ORIENTATION_VERTICAL, 6)
        cadw_name(expander, Texts.text("Details"))
        gtk_widget_set_visible(content, 0)
        gtk_widget_set_valign(expander, GTK_ALIGN_START)
        widgets.connect(expander, "notify::expanded") { [unowned self] in toggle() }
    }

    deinit { reading?.cancel() }

    private func toggle() {
        let isOpen = gtk_expander_get_expanded(cadw_expander(expander)) != 0
        if isOpen, before == nil { fill() }
        gtk_widget_set_visible(content, isOpen ? 1 : 0)
        onToggle()
    }

    private func fill() {
        for line in PromptTexts.details(prompt) { gtk_box_append(cadw_box(content), Widgets.label(line, "dim-label")) }
        let label = Widgets.label("", "dim-label")
        gtk_widget_set_visible(label, 0)
        before = label
        gtk_box_append(cadw_box(content), label)
        read()
    }

    /// Neither the bus nor permd has to answer; the other details are there without them.
    private func read() {
        let target = WeakBox(self)
        reading = Task { [app = prompt.app] in
            let settings = PermissionSettings()
            let hasWindow = await settings.hasWindow()
            WindowStage.onGtk { target.value?.showWay(hasWindow: hasWindow) }
            guard let rows = try? await settings.decisions(app: app) else { return }
            WindowStage.onGtk { target.value?.show(rows) }
        }
    }

    /// The way to change the decision later.
    private func showWay(hasWindow: Bool) {
        let later = Texts.text("You can change it later in Permissions.")
        var way = Widgets.label(PromptTexts.changeLater(prompt), "dim-label")
        if hasWindow {
            way = widgets.button(Texts.text("Open Permissions"), later, style: "flat") { [app = prompt.app] in
                let token = DetailsBox.token()
                Task { await PermissionSettings().openWindow(at: app, token: token) }
            }
            gtk_widget_set_halign(way, GTK_ALIGN_START)
        }
        gtk_box_append(cadw_box(content), way)
        onToggle()
    }

    private func show(_ rows: [DecisionRow]) {
        guard let before else { return }
        gtk_label_set_text(cadw_label(before), PromptTexts.earlier(rows, prompt).joined(separator: "\n"))
        gtk_widget_set_visible(before, 1)
        onToggle()
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

// SAFETY: the value is read on GTK's thread only.
private final class WeakBox: @unchecked Sendable {
    weak var value: DetailsBox?
    init(_ value: DetailsBox) { self.value = value }
}
