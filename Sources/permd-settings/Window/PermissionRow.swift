// One permission on the page of an app: what is selected, and what there is to know about it.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class PermissionRow {
    let permission: Permission
    let widget = cadw_combo_row_new()!
    /// Called with what the person has selected, and what was in force before.
    var onSelect: @MainActor (Selection, DecisionRow?) -> Void = { _, _ in }
    /// Called when the list is closed, and has to be filled because something has changed meanwhile.
    var onClose: @MainActor () -> Void = {}
    private let popover: Widget?
    private let strings = cadw_strings_new()!
    private var isDue = false
    private var offered: [Selection] = []
    private var labels: [String] = []
    private var selected: Selection?
    private var decision: DecisionRow?
    /// Whether the program, not the person, changes the selection.
    private var isFilling = false

    init(_ permission: Permission) {
        self.permission = permission
        popover = PermissionRow.popover(in: widget)
        cadw_combo_set_strings(widget, strings)
        cadw_row_add_prefix(widget, Widgets.icon(Icons.of(permission), size: 16))
        cadw_row_set(widget, Texts.name(permission), "")
        widget.on("notify::selected") { [unowned self] in select() }
        popover?.on("notify::visible") { [unowned self] in closed() }
    }

    /// The popover in a widget, such as the list of choices of a combo row, which has no name of its own.
    private static func popover(in widget: Widget) -> Widget? {
        if cadw_is_popover(widget) != 0 { return widget }
        var child = gtk_widget_get_first_child(widget)
        while let current = child {
            if let found = popover(in: current) { return found }
            child = gtk_widget_get_next_sibling(current)
        }
        return nil
    }

    /// Makes the next `show` fill the row again.
    func forget() { selected = nil }

    func show(
        _ status: StatusRow, _ pause: DecisionRow?, isOff: Bool, hasDevice: Bool, isUsed: Bool, lastUse: HistoryRow?
    ) {
        decision = status.decision
        let isRestricted = status.status == .restricted
        let isGranted = status.rule != nil && !isRestricted
        let current: Selection =
            isRestricted
            ? .current(Texts.text("Forbidden by a Rule"))
            : Selection.of(status.decision, byRule: isGranted)
        fill(current, isRestricted: isRestricted, isGranted: isGranted)
        cadw_row_set(
            widget, Texts.name(permission),
            PermissionRow.details(
                status, pause, isOff: isOff, hasDevice: hasDevice, isUsed: isUsed, lastUse: lastUse
            ).joined(separator: "\n"))
    }

    private func fill(_ current: Selection, isRestricted: Bool, isGranted: Bool) {
        var offered = isRestricted ? [] : isGranted ? [Selection.deny] : Selection.offered
        if !offered.contains(current) { offered.insert(current, at: 0) }
        guard selected != current || self.offered != offered else { return }
        // The list does not change while the person selects from it.
        isDue = isOpen
        guard !isDue else { return }
        selected = current
        isFilling = true
        let labels = offered.map(\.label)
        // What stays is kept, with the focus that the list has.
        let (same, sameEnd) = Difference.ends(self.labels, labels)
        Widgets.withStrings(Array(labels[same..<(labels.count - sameEnd)])) {
            gtk_string_list_splice(strings, guint(same), guint(self.labels.count - same - sameEnd), $0)
        }
        cadw_combo_select(widget, guint(offered.firstIndex(of: current) ?? 0))
        (self.offered, self.labels) = (offered, labels)
        isFilling = false
        gtk_widget_set_sensitive(widget, isRestricted ? 0 : 1)
    }

    private var isOpen: Bool { popover.map { gtk_widget_get_visible($0) != 0 } ?? false }

    private func closed() {
        guard isDue, !isOpen else { return }
        isDue = false
        onClose()
    }

    private func select() {
        let place = Int(cadw_combo_selected(widget))
        guard !isFilling, offered.indices.contains(place), offered[place] != selected else { return }
        selected = offered[place]
        onSelect(offered[place], decision)
    }

    private static func details(
        _ status: StatusRow, _ pause: DecisionRow?, isOff: Bool, hasDevice: Bool, isUsed: Bool, lastUse: HistoryRow?
    ) -> [String] {
        var lines = isOff ? [Texts.text("Off for every app")] : []
        if let rule = status.rule {
            let text =
                status.status == .restricted
                ? Texts.pattern("A rule of the administrator forbids it: %@")
                : Texts.pattern("A rule of the administrator allows it: %@")
            lines.append(Texts.filled(text, [SafeText.line(rule)]))
        }
        if let decision = status.decision, decision.decision == .grant, decision.duration == .once {
            lines.append(Texts.text("Until the program that asked has quit"))
        }
        if let decision = status.decision, decision.decision != .pause, let end = decision.until {
            lines.append(Texts.text("Until %@", TimeText.short(end)))
        }
        if let pause {
            lines.append(
                Texts.text(
                    "Questions are dismissed until %@, because you often chose Not Now. Ask ends that.",
                    TimeText.short(pause.until ?? 0)))
        }
        if !status.problem.isEmpty {
            // What is wrong with a device, and what to do, is on the page Permissions.
            lines.append(
                hasDevice ? Texts.text("No device can be used: see Permissions") : Texts.text("No device was found"))
        }
        if isUsed {
            lines.append(Texts.text("In use now"))
        } else if let lastUse {
            lines.append(Texts.text("Last used: %@", TimeText.short(lastUse.time)))
        }
        return lines
    }
}
