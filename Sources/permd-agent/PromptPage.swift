// One prompt as widgets. Its question and its buttons are always visible as a whole; what is between them may scroll.

import CAdwaita
import PermissionClient
import PermissionTexts

final class PromptPage {
    enum Action {
        case answer(PromptChoice)
        case notNow
        /// Shows all answers, or the usual ones again.
        case more
        case turn(Int, on: Bool)
        /// Selects an option of a portal dialog's choice in an item.
        case select(String, of: String, in: Int)
        case resized
    }

    let size: PageSize
    let widget: Widget
    let question: Widget
    let heading: Widget
    let icon: Widget
    /// What may scroll: the app's explanation above the question, and what is between the question and the buttons.
    let explanation: Widget?
    let middle: Widget
    /// The answers below each other, and below them `others`.
    let buttons: Widget
    let answers: [Widget]
    /// A box with Not now and what shows more answers.
    let others: Widget
    /// The question with another name for the app.
    let ask: (String) -> String
    /// The name that the question has; empty if it has none.
    let name: String
    /// The question as it is shown.
    var asked = ""
    private let widgets = Widgets()
    /// The answers that allow.
    private let grants: [Widget]
    let otherButtons: [Widget]
    private let behind: Widget
    /// By what is asked about, the label of its device, and its switch if it has one.
    private var devices: [PromptItem: (item: AgentPrompt.Item, label: Widget, onOff: Widget?)] = [:]
    private let refusal: Widget
    /// Why no answer counts yet.
    let asleep: Widget
    private let details: DetailsBox
    private let onAction: (Action) -> Void
    private var isAwake = false

    init(
        _ prompt: AgentPrompt, _ form: PromptForm, _ size: PageSize = PageSize.all[0],
        _ onAction: @escaping (Action) -> Void
    ) {
        self.size = size
        self.onAction = onAction
        (name, ask) = PromptTexts.heading(prompt)
        question = Widgets.label(ask(name), "title")
        gtk_widget_set_hexpand(question, 1)
        // The focus is here at first: on something that a key does nothing with.
        gtk_widget_set_focusable(question, 1)
        icon = AppIcon.image(size.hasIcon ? prompt.appIcon : "")
        cadw_name(icon, prompt.displayName)
        gtk_widget_set_visible(icon, size.hasIcon ? 1 : 0)
        gtk_image_set_pixel_size(cadw_image(icon), 48)
        gtk_widget_set_valign(icon, GTK_ALIGN_START)
        heading = Widgets.box(GTK_ORIENTATION_HORIZONTAL, 12, icon, question)
        explanation = prompt.explanation.map { PromptPage.words(of: $0, PromptTexts.says) }
        let content = Widgets.box(GTK_ORIENTATION_VERTICAL, 12)
        middle = Widgets.scrolling(content)
        gtk_widget_set_vexpand(middle, 1)
        // One line, whatever waits: other apps could move the buttons under the pointer otherwise.
        behind = Widgets.label("", "dim-label")
        refusal = Widgets.label(PromptTexts.inputRefused, "warning")
        gtk_widget_set_visible(refusal, 0)
        gtk_box_append(cadw_box(content), refusal)
        gtk_label_set_lines(cadw_label(behind), 1)
        gtk_label_set_xalign(cadw_label(behind), 1)
        gtk_widget_set_hexpand(behind, 1)
        gtk_widget_set_valign(behind, GTK_ALIGN_START)
        details = DetailsBox(prompt, widgets)
        asleep = cadw_label_new(" ", 0)
        gtk_widget_add_css_class(asleep, "dim-label")

        let notNow = widgets.button(Texts.text("Not now"), PromptTexts.notNow(prompt), style: "flat") {
            onAction(.notNow)
        }
        answers = (form.shown + [.deny]).map { [widgets] choice in
            widgets.button(PromptTexts.label(choice, form), PromptTexts.description(choice, form)) {
                onAction(.answer(choice))
            }
        }
        grants = answers.dropLast()
        others = Widgets.box(GTK_ORIENTATION_HORIZONTAL, 8, notNow)
        var otherButtons = [notNow]
        gtk_widget_set_halign(notNow, GTK_ALIGN_START)
        gtk_widget_set_hexpand(notNow, 1)
        if form.hasMore {
            let label = form.showsAll ? Texts.text("Fewer choices") : Texts.text("More choices")
            otherButtons.append(widgets.button(label, style: "flat") { onAction(.more) })
            gtk_box_append(cadw_box(others), otherButtons[1])
        }
        self.otherButtons = otherButtons
        buttons = Widgets.box(GTK_ORIENTATION_VERTICAL, 6)
        for button in answers + [others] { gtk_box_append(cadw_box(buttons), button) }
        widget = Widgets.box(GTK_ORIENTATION_VERTICAL, min(12, size.margin))
        gtk_widget_add_css_class(widget, "page")
        if !size.style.isEmpty { gtk_widget_add_css_class(widget, size.style) }
        cadw_set_margins(widget, size.margin)
        for part in [explanation, heading, middle, asleep, buttons].compactMap(\.self) {
            gtk_box_append(cadw_box(widget), part)
        }

        addRows(prompt, form, to: content)
        gtk_box_append(
            cadw_box(content), Widgets.box(GTK_ORIENTATION_HORIZONTAL, 12, details.expander, behind))
        gtk_box_append(cadw_box(content), details.content)
        if let pause = prompt.pause {
            gtk_box_append(cadw_box(content), Widgets.label(PromptTexts.pause(pause), "dim-label"))
        }
        cadw_describe(question, PromptPage.spoken(prompt, form))
        refusePresses()
        details.onToggle = { onAction(.resized) }
        show(prompt.behind)
        update(form)
    }

    /// A page with typical contents, which is laid out before the first prompt.
    static func rehearsal() -> PromptPage {
        let item = AgentPrompt.Item(id: .permission(.camera), deviceName: "-", reason: "-")
        let prompt = AgentPrompt(app: "exe:/", appName: "", items: [item])
        return PromptPage(prompt, PromptForm(prompt.items, prompt.durations)) { _ in }
    }

    // MARK: Changes

    /// Returns false if the page says so already.
    func sayInputIsRefused() -> Bool {
        guard gtk_widget_get_visible(refusal) == 0 else { return false }
        gtk_widget_set_visible(refusal, 1)
        return true
    }

    /// Names the devices that the app would get now.
    func show(_ deviceNames: [PromptItem: String]) {
        for (item, name) in deviceNames {
            guard let row = devices[item] else { continue }
            let words = PromptTexts.device(row.item, name: name)
            gtk_label_set_text(cadw_label(row.label), words)
            if let onOff = row.onOff, let permission = item.permission {
                cadw_name(onOff, "\(Texts.name(permission)), \(words)")
            }
        }
    }

    func show(_ waiting: AgentPrompt.Behind) {
        let text = PromptTexts.behind(waiting)
        gtk_label_set_text(cadw_label(behind), text)
        gtk_widget_set_visible(behind, text.isEmpty ? 0 : 1)
    }

    /// Says why no answer counts yet, in a line that is always there, so that nothing moves.
    func say(_ why: String) {
        cadw_label_set(asleep, why.isEmpty ? " " : why)
    }

    /// Makes the answers look as if they do or do not count, also for assistive technology. They stay sensitive: GTK finds
    /// a widget that becomes sensitive under a pointer that rests there only when the pointer moves.
    func setAwake(_ isAwake: Bool, _ form: PromptForm) {
        self.isAwake = isAwake
        update(form)
    }

    func update(_ form: PromptForm) {
        for button in grants { gtk_widget_set_sensitive(button, form.mayAllow ? 1 : 0) }
        for button in answers + otherButtons { cadw_set_asleep(button, isAwake ? 0 : 1) }
    }

    /// A press that does not count goes no further, also if it ends when answers count.
    private func refusePresses() {
        let presses = gtk_gesture_click_new()!
        gtk_gesture_single_set_button(cadw_gesture_single(presses), 0)
        gtk_event_controller_set_propagation_phase(cadw_controller(presses), GTK_PHASE_CAPTURE)
        widgets.connect(UnsafeMutableRawPointer(presses), "pressed") { [unowned self] in
            if !isAwake { gtk_gesture_set_state(presses, GTK_EVENT_SEQUENCE_CLAIMED) }
        }
        gtk_widget_add_controller(buttons, cadw_controller(presses))
    }

    // MARK: Parts

    /// What a screen reader says after the question: what the app says, which the focus does not come to.
    private static func spoken(_ prompt: AgentPrompt, _ form: PromptForm) -> String {
        var words: [String] = []
        if let explanation = prompt.explanation {
            words = [PromptTexts.says, explanation.title, explanation.body]
        }
        for reason in form.items.map(PromptTexts.reason) where !words.contains(reason) { words.append(reason) }
        return words.filter { !$0.isEmpty }.joined(separator: " ")
    }

    private static func words(of explanation: Explanation, _ introduction: String) -> Widget {
        let box = Widgets.box(
            GTK_ORIENTATION_VERTICAL, 6, Widgets.label(introduction, "dim-label"),
            Widgets.label(explanation.title, "heading"), Widgets.label(explanation.body))
        return Widgets.scrolling(box)
    }

    private func addRows(_ prompt: AgentPrompt, _ form: PromptForm, to box: Widget) {
        let reasons = PromptTexts.reasons(prompt)
        if !reasons.common.isEmpty { gtk_box_append(cadw_box(box), Widgets.label(reasons.common, "reason")) }
        if !reasons.missing.isEmpty { gtk_box_append(cadw_box(box), Widgets.label(reasons.missing, "dim-label")) }
        for (index, item) in form.items.enumerated() {
            if let permission = item.id.permission, form.hasSwitches || !PromptTexts.device(item).isEmpty {
                gtk_box_append(cadw_box(box), row(permission, item, index, form))
            }
            let reason = reasons.each[index]
            if !reason.isEmpty { gtk_box_append(cadw_box(box), Widgets.label(reason, "reason")) }
            for choice in item.dialog?.choices ?? [] { add(choice, of: index, form, to: box) }
        }
    }

    /// What is asked and the device that the app gets, with a switch if it is one of several.
    private func row(_ permission: Permission, _ item: AgentPrompt.Item, _ index: Int, _ form: PromptForm) -> Widget {
        let name = Texts.name(permission)
        let image = gtk_image_new_from_icon_name(PermissionText.of(permission).icon)!
        gtk_widget_add_css_class(image, "kind")
        cadw_hide(image)
        let words = PromptTexts.device(item)
        let device = Widgets.label(words, "dim-label")
        gtk_widget_set_hexpand(device, 1)
        devices[item.id] = (item, device, nil)
        let row = Widgets.box(GTK_ORIENTATION_HORIZONTAL, 8, image, gtk_label_new(name), device)
        if form.hasSwitches {
            let description = words.isEmpty ? name : "\(name), \(words)"
            let onOff = widgets.onOff(description, isOn: form.isOn[index]) { [onAction] in
                onAction(.turn(index, on: $0))
            }
            gtk_box_append(cadw_box(row), onOff)
            devices[item.id]?.onOff = onOff
        }
        return row
    }

    private func add(_ choice: PortalChoice, of index: Int, _ form: PromptForm, to box: Widget) {
        let selection = form.selection(of: choice, in: index)
        if choice.isCheckbox {
            let check = widgets.checkbox(choice.label, isOn: selection == "true") { [onAction] isOn in
                onAction(.select(isOn ? "true" : "false", of: choice.id, in: index))
            }
            return gtk_box_append(cadw_box(box), check)
        }
        gtk_box_append(cadw_box(box), Widgets.label(choice.label))
        var group: Widget?
        for option in choice.options {
            let button = widgets.option(option.label, isOn: option.id == selection, group: group) { [onAction] in
                onAction(.select(option.id, of: choice.id, in: index))
            }
            group = group ?? button
            gtk_box_append(cadw_box(box), button)
        }
    }
}
