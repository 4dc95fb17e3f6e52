// A prompt as lines of text, with a key beside everything that can be chosen. The words and their order are the window's.

import PermissionClient
import PermissionTexts

struct PromptLines {
    enum Action {
        case answer(PromptChoice)
        case notNow, details
        /// Whether Allow grants the item with this index.
        case turn(Int)
        /// One option of a portal dialog's choice, of the item with this index.
        case select(PortalChoice, option: String, label: String, Int)
    }

    private let prompt: AgentPrompt
    private(set) var form: PromptForm
    /// Digits answer, letters change what is asked about, and a question mark shows the details. An option for which
    /// there is no letter keeps its initial selection.
    private let keys: [(key: Character, action: Action)]

    init(_ prompt: AgentPrompt) {
        self.prompt = prompt
        let form = PromptForm(prompt.items, prompt.durations)
        self.form = form
        let options = form.items.enumerated().flatMap { index, item in
            (form.hasSwitches ? [.turn(index)] : [])
                + (item.dialog?.choices ?? []).flatMap { PromptLines.options(of: $0, index) }
        }
        keys =
            Array(zip("123456789", (form.grants + [.deny]).map { .answer($0) } + [.notNow]))
            + zip("abcdefghijklmnopqrstuvwxyz", options) + [("?", .details)]
    }

    private static func options(of choice: PortalChoice, _ item: Int) -> [Action] {
        choice.isCheckbox
            ? [.select(choice, option: "true", label: choice.label, item)]
            : choice.options.map { .select(choice, option: $0.id, label: "\(choice.label): \($0.label)", item) }
    }

    /// What a key does; Escape is Not now.
    func action(_ key: Character) -> Action? {
        key == Terminal.escape ? .notNow : keys.first { $0.key == key }?.action
    }

    /// Changes an option, and returns the lines that then differ.
    mutating func apply(_ action: Action) -> [TerminalLine] {
        switch action {
        case .turn(let item): form.turn(item, on: !form.isOn[item])
        case .select(let choice, let option, _, let item):
            let isOff = choice.isCheckbox && form.selection(of: choice, in: item) == option
            form.select(isOff ? "false" : option, of: choice.id, in: item)
        default: break
        }
        let letters = keys.map(\.key).filter(\.isLetter).map(String.init).joined(separator: ", ")
        return form.isOn.contains(true)
            ? optionLines
            : [PromptLines.line(Texts.text("Nothing is switched on. Press %@ to switch something on.", letters))]
    }

    // MARK: Lines

    var lines: [TerminalLine] {
        var lines: [TerminalLine] = [PromptLines.line("")]
        if let explanation = prompt.explanation {
            lines.append(PromptLines.line(PromptTexts.says))
            lines += quoted(explanation.title) + quoted(explanation.body)
        }
        let (name, ask) = PromptTexts.heading(prompt)
        lines.append(TerminalLine(mark: "── ", text: PromptLines.text(ask(name)), isBold: true))
        let reasons = PromptTexts.reasons(prompt)
        lines += quoted(reasons.common)
        if !reasons.missing.isEmpty { lines.append(PromptLines.line(reasons.missing)) }
        for (index, item) in form.items.enumerated() {
            if !form.hasSwitches, !PromptTexts.device(item).isEmpty { lines.append(TerminalLine(text: about(item))) }
            lines += quoted(reasons.each[index])
        }
        lines += optionLines
        if let pause = prompt.pause { lines.append(PromptLines.line(PromptTexts.pause(pause))) }
        return lines
            + keys.compactMap { key, action in label(action).map { TerminalLine(text: "[\(key)] " + $0) } }
    }

    /// What a key at the end of the prompt does; nil for an option.
    func label(_ action: Action) -> TerminalText? {
        switch action {
        case .answer(let choice): PromptLines.text(PromptTexts.label(choice, form))
        case .notNow: PromptLines.text(Texts.text("Not now"))
        case .details: PromptLines.text(Texts.text("Details"))
        case .turn, .select: nil
        }
    }

    private var optionLines: [TerminalLine] {
        keys.compactMap { key, action in
            let (isOn, text): (Bool, TerminalText)
            switch action {
            case .turn(let item): (isOn, text) = (form.isOn[item], about(form.items[item]))
            case .select(let choice, let option, let label, let item):
                (isOn, text) = (form.selection(of: choice, in: item) == option, PromptLines.text(label))
            default: return nil
            }
            return TerminalLine(text: "[\(key)] " + (isOn ? "[x] " : "[ ] ") + text)
        }
    }

    /// What is asked, and its device.
    private func about(_ item: AgentPrompt.Item, device: String? = nil) -> TerminalText {
        let name = item.id.permission.map(Texts.name) ?? item.dialog?.title ?? ""
        let device = PromptTexts.device(item, name: device)
        return PromptLines.text(device.isEmpty ? name : "\(name): \(device)")
    }

    /// What is asked about other devices than the prompt named.
    func named(_ devices: [PromptItem: String]) -> [TerminalLine] {
        prompt.items.compactMap { item in devices[item.id].map { TerminalLine(text: about(item, device: $0)) } }
    }

    static func line(_ text: String) -> TerminalLine { TerminalLine(text: PromptLines.text(text)) }

    /// Words of the app or the portal. Each line is marked, so that none can pass for the agent's own.
    private func quoted(_ text: String) -> [TerminalLine] {
        text.isEmpty ? [] : [TerminalLine(mark: "│ ", text: PromptLines.text(text))]
    }

    /// A text of which parts are from others. Only keys are in square brackets: those of a name or a reason become round.
    static func text(_ text: String) -> TerminalText {
        exact(String(text.map { "[［".contains($0) ? "(" : "]］".contains($0) ? ")" : $0 }))
    }

    /// A text that must be shown as it is, such as an identity. Isolates are for text that is laid out with the Unicode
    /// bidirectional algorithm; a terminal does not know them.
    private static func exact(_ text: String) -> TerminalText {
        TerminalText(text.filter { !"\u{2068}\u{2069}".contains($0) })
    }

    // MARK: Below the prompt

    /// - Parameter earlier: what was decided before; nil if permd does not tell.
    func details(_ earlier: [DecisionRow]?) -> [TerminalLine] {
        let decisions = earlier.map { PromptTexts.earlier($0, prompt) } ?? []
        return (PromptTexts.details(prompt) + decisions + [PromptTexts.changeLater(prompt)])
            .map { TerminalLine(text: PromptLines.exact($0)) }
    }

    /// What to say after a key that means nothing.
    var help: TerminalLine {
        let all = keys.map { String($0.key) }.joined(separator: ", ")
        return PromptLines.line(Texts.text("Press %@, or Escape for “%@”.", all, Texts.text("Not now")))
    }

    func behind(_ waiting: AgentPrompt.Behind) -> TerminalText { PromptLines.text(PromptTexts.behind(waiting)) }

    /// What was answered: the label, and what is meant if that is not everything.
    func summary(_ action: Action) -> TerminalText {
        let label = label(action) ?? ""
        guard case .answer(let choice) = action, choice != .deny, form.isOn.contains(false) else { return label }
        let names = form.items.indices.filter { form.isOn[$0] }
            .compactMap { form.items[$0].id.permission.map(Texts.name) }
        return label + ": " + PromptLines.text(names.joined(separator: ", "))
    }
}
