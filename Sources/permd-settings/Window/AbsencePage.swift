// What is shown while permd does not run or cannot be asked: why, and a button that starts it.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class AbsencePage {
    let widget: Widget
    private let model: Model
    private let status: Widget
    private let button: Widget

    init(_ model: Model) {
        self.model = model
        status = cadw_status_new("action-unavailable-symbolic", "")
        let button = gtk_button_new_with_label("")!
        self.button = button
        gtk_widget_add_css_class(button, "suggested-action")
        gtk_widget_add_css_class(button, "pill")
        gtk_widget_set_halign(button, GTK_ALIGN_CENTER)
        button.on("clicked") {
            gtk_widget_set_sensitive(button, 0)
            model.start { gtk_widget_set_sensitive(button, 1) }
        }
        widget = Widgets.box(GTK_ORIENTATION_VERTICAL, cadw_header_new(nil), status.expands())
        model.onChange { [unowned self] part in
            if part == .presence { show() }
        }
        show()
    }

    private func show() {
        switch model.presence {
        case .failed(let message):
            set(Texts.text("permd Cannot Be Asked"), message, Texts.text("Try Again"))
        case .absent, .unknown, .present:
            set(
                Texts.text("permd Is Not Running"),
                Texts.text("Until it runs, apps get no permission they ask for, and nothing can be changed here."),
                Texts.text("Start permd"))
        }
    }

    private func set(_ title: String, _ text: String, _ action: String) {
        gtk_button_set_label(UnsafeMutablePointer<GtkButton>(OpaquePointer(button)), action)
        cadw_status_set(status, "action-unavailable-symbolic", title, text, button)
    }
}
