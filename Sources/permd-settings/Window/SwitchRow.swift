// A row that switches a permission off for every app.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class SwitchRow {
    let widget: Widget
    var permission: Permission {
        didSet { show() }
    }
    private let model: Model
    private let onOff = gtk_switch_new()!
    /// Whether the program, not the person, sets the switch.
    private var isShowing = false

    init(_ permission: Permission, _ model: Model, _ changes: Changes) {
        self.permission = permission
        self.model = model
        widget = Widgets.row("")
        gtk_widget_set_valign(onOff, GTK_ALIGN_CENTER)
        cadw_row_add_suffix(widget, onOff)
        cadw_row_set_activatable_widget(widget, onOff)
        onOff.on("notify::active") { [unowned self] in
            guard !isShowing else { return }
            changes.turn(self.permission, on: gtk_switch_get_active(cadw_switch(onOff)) != 0) { [self] in show() }
        }
        model.onChange { [unowned self] part in
            if part == .switches { show() }
        }
        show()
    }

    private func show() {
        let isOn = model.lists.switches[permission] ?? true
        isShowing = true
        gtk_switch_set_active(cadw_switch(onOff), isOn ? 1 : 0)
        isShowing = false
        let name = Texts.name(permission)
        let off =
            permission == .bluetooth
            ? Texts.text("Off for every app. Headsets, mice and keyboards go on.") : Texts.text("Off for every app")
        cadw_row_set(widget, name, isOn ? Texts.text("On: apps may use it as you decide") : off)
        cadw_name(onOff, name)
    }
}
