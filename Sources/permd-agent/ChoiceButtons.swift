// The choices of a portal's dialog as check buttons: a checkbox, or a group of options of which one is selected.

import CGtk
import PermissionClient

extension PromptPage {
    func add(_ choice: PortalChoice, _ selection: String) {
        if choice.isCheckbox {
            return addCheck(gtk_check_button_new(), choice.label, isOn: selection == "true") { isOn in
                .select(option: isOn ? "true" : "false", choice: choice.id)
            }
        }
        add(choice.label, nil, lines: 2)
        var first: UnsafeMutablePointer<GtkWidget>?
        for option in choice.options {
            addCheck(cgtk_option_new(), option.label, isOn: option.id == selection, group: first) { isOn in
                isOn ? .select(option: option.id, choice: choice.id) : nil
            }
            first = first ?? lastCheck
        }
    }

    private func addCheck(
        _ button: UnsafeMutablePointer<GtkWidget>, _ text: String, isOn: Bool,
        group: UnsafeMutablePointer<GtkWidget>? = nil, _ action: @escaping (Bool) -> Action?
    ) {
        gtk_check_button_set_child(cgtk_check(button), label(text, lines: 2))
        cgtk_name(button, text)
        if let group { gtk_check_button_set_group(cgtk_check(button), cgtk_check(group)) }
        gtk_check_button_set_active(cgtk_check(button), isOn ? 1 : 0)
        let target = CheckTarget { [unowned self] in
            let isOn = gtk_check_button_get_active(cgtk_check(button)) != 0
            if let action = action(isOn) { act(action) }
        }
        cgtk_connect(
            button, "toggled",
            { context in
                guard let context else { return }
                Unmanaged<CheckTarget>.fromOpaque(context).takeUnretainedValue().body()
            }, Unmanaged.passUnretained(target).toOpaque())
        append(check: button, target)
    }
}

/// The action of a check button; lives as long as its page.
final class CheckTarget {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
}
