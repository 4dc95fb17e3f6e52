// What a prompt says about the app on request: its identity, its sandbox, and what was decided before.

import CAdwaita
import PermissionClient
import PermissionTexts

final class DetailsBox {
    let expander: Widget
    let content: Widget
    /// Called when the details are shown or hidden.
    var onToggle: () -> Void = {}
    private let prompt: AgentPrompt
    private var before: Widget?
    private var reading: Task<Void, Never>?

    init(_ prompt: AgentPrompt, _ widgets: Widgets) {
        self.prompt = prompt
        expander = gtk_expander_new(Texts.text("Details"))!
        content = Widgets.box(GTK_ORIENTATION_VERTICAL, 6)
        cadw_name(expander, Texts.text("Details"))
        gtk_widget_set_visible(content, 0)
        gtk_widget_set_valign(expander, GTK_ALIGN_START)
        widgets.connect(expander, "notify::expanded") { [unowned self] in toggle(widgets) }
    }

    deinit { reading?.cancel() }

    private func toggle(_ widgets: Widgets) {
        let isOpen = gtk_expander_get_expanded(cadw_expander(expander)) != 0
        if isOpen, before == nil { fill(widgets) }
        gtk_widget_set_visible(content, isOpen ? 1 : 0)
        onToggle()
    }

    private func fill(_ widgets: Widgets) {
        for line in PromptTexts.details(prompt) { gtk_box_append(cadw_box(content), Widgets.label(line, "dim-label")) }
        let label = Widgets.label("", "dim-label")
        gtk_widget_set_visible(label, 0)
        before = label
        gtk_box_append(cadw_box(content), label)
        let later = Texts.text("You can change it later in Permissions.")
        if PermissionsWindow.isInstalled() {
            let button = widgets.button(Texts.text("Open Permissions"), later, style: "flat") { [prompt] in
                PermissionsWindow.open(at: prompt.app)
            }
            gtk_widget_set_halign(button, GTK_ALIGN_START)
            gtk_box_append(cadw_box(content), button)
        } else {
            gtk_box_append(cadw_box(content), Widgets.label(PromptTexts.changeLater(prompt), "dim-label"))
        }
        readDecisions(into: label)
    }

    /// permd may not answer; the other details are there without it.
    private func readDecisions(into label: Widget) {
        let prompt = prompt
        let target = WeakBox(self)
        reading = Task {
            guard let rows = try? await PermissionSettings().decisions(app: prompt.app) else { return }
            let lines = PromptTexts.earlier(rows, prompt)
            WindowStage.onGtk { target.value?.show(lines) }
        }
    }

    private func show(_ lines: [String]) {
        guard let before else { return }
        gtk_label_set_text(cadw_label(before), lines.joined(separator: "\n"))
        gtk_widget_set_visible(before, 1)
        onToggle()
    }
}

// SAFETY: the value is read on GTK's thread only.
private final class WeakBox: @unchecked Sendable {
    weak var value: DetailsBox?
    init(_ value: DetailsBox) { self.value = value }
}
