// Lays out a prompt as wrapped lines of plain text for a terminal.

import PermissionClient

struct PromptText {
    let prompt: AgentPrompt
    let columns: Int

    /// The choices in the order of their keys; nil, the last one, is Not Now.
    var choices: [PromptChoice?] {
        PromptChoice.offered(prompt.durations).filter { $0 != .deny } + [.deny, nil]
    }

    /// The label of a choice. A portal that stores the answer itself may supply its own label.
    static func label(_ choice: PromptChoice?, _ item: AgentPrompt.Item) -> String {
        guard let choice else { return label(choice) }
        if let own = item.portalLabel(choice) { return own }
        return item.isOfPortal && choice != .deny ? "Allow" : label(choice)
    }

    private static func label(_ choice: PromptChoice?) -> String {
        switch choice {
        case .once: "Only This Time"
        case .session: "This Session"
        case .always: "Always"
        case .deny: "Don't Allow"
        case nil: "Not Now"
        }
    }

    /// The explanation, which is shown before the first question.
    func explanation(_ explanation: Explanation) -> TerminalText {
        lines(
            rule("\(prompt.displayName) says") + quoted(explanation.title) + [""] + quoted(explanation.body)
                + ["", "   [1] Continue   [2] Not Now"])
    }

    func question(_ item: AgentPrompt.Item, number: Int) -> TerminalText {
        let name = TerminalText(prompt.displayName)
        let wish = item.question.permission.map(PromptText.wish)
        var text = rule(wish.map { "\(name) wants to \($0)" } ?? name)
        if wish == nil { text += quoted(item.dialog?.title ?? "") }
        if prompt.items.count > 1 { text += fact("Question", "\(number) of \(prompt.items.count)") }
        text += fact("App", prompt.app + (prompt.isSandboxed ? " (sandboxed)" : ""))
        text += fact("Device", item.deviceName)
        text += why(item)
        text += fact("Waiting", prompt.behind.count == 0 ? "" : "\(prompt.behind.count) more")
        text.append("")
        text += row(choices.enumerated().map { "[\($0.offset + 1)] \(PromptText.label($0.element, item))" })
        return lines(text)
    }

    private func why(_ item: AgentPrompt.Item) -> [TerminalText] {
        guard item.dialog != nil else {
            return fact("Why", item.reason.isEmpty ? "no reason given" : "“\(item.reason)”")
        }
        let words = item.portalWords
        return words.isEmpty ? [] : fact("Request", "“\(words)”")
    }

    /// The options of a portal's dialog, each with its key (a letter) and whether it is selected.
    func options(_ item: AgentPrompt.Item, _ selected: [String: String]) -> TerminalText {
        let lines = PromptText.options(of: item).enumerated().flatMap { index, option -> [TerminalText] in
            let isOn = selected[option.choice.id] == option.selection
            let mark = option.choice.isCheckbox ? (isOn ? "[x]" : "[ ]") : (isOn ? "(•)" : "( )")
            let text = option.choice.isCheckbox ? option.label : "\(option.choice.label): \(option.label)"
            return indented("[\(PromptText.key(index))] \(mark) \(text)", hanging: 8)
        }
        return lines.isEmpty ? "" : self.lines(lines)
    }

    /// The options of a question's dialog, one for each key. A checkbox is one option, its checked state.
    static func options(
        of item: AgentPrompt.Item
    ) -> [(choice: PortalChoice, selection: String, label: String)] {
        let all = (item.dialog?.choices ?? []).flatMap { choice in
            choice.isCheckbox
                ? [(choice, "true", choice.label)] : choice.options.map { (choice, $0.id, $0.label) }
        }
        return Array(all.prefix(26))
    }

    static func key(_ index: Int) -> Character { Character(UnicodeScalar(UInt8(ascii: "a") + UInt8(index))) }

    /// What the app wants to do; nil for a permission whose dialog has a title of its own.
    private static func wish(_ permission: Permission) -> String {
        switch permission {
        case .camera: "use the camera"
        case .microphone: "use the microphone"
        case .bluetooth: "use Bluetooth"
        case .location: "know your location"
        }
    }

    // MARK: Layout

    private static let margin = 3
    /// Longer lines are hard to read, even on a wide terminal.
    private static let longestLine = 100
    private static let longestRule = 78
    /// Narrower terminals cut off the end of each line.
    private static let leastWidth = 20

    /// The last column stays free because some terminals wrap as soon as it is filled.
    private var width: Int { max(PromptText.leastWidth, min(columns, PromptText.longestLine) - 1) }

    private func rule(_ title: TerminalText) -> [TerminalText] {
        var lines = ("── " + title).wrapped(to: width, indent: PromptText.margin)
        let rest = min(width, PromptText.longestRule) - (lines.last?.columns ?? 0) - 1
        if rest > 0 { lines[lines.count - 1] = "\(lines[lines.count - 1]) \(String(repeating: "─", count: rest))" }
        return lines
    }

    private func indented(_ text: TerminalText, hanging: Int = 0) -> [TerminalText] {
        text.wrapped(to: width - PromptText.margin, indent: hanging).map { .spaces(PromptText.margin) + $0 }
    }

    /// Text from the app or portal. A bar marks each line, so that none can pass for permctl's own.
    private func quoted(_ text: String) -> [TerminalText] {
        TerminalText(text).wrapped(to: width - PromptText.margin - 2).map { .spaces(PromptText.margin) + "│ " + $0 }
    }

    private func fact(_ name: String, _ value: String) -> [TerminalText] {
        guard !value.isEmpty else { return [] }
        let label = TerminalText(name) + .spaces(9 - name.count)
        let lines = TerminalText(value).wrapped(to: width - PromptText.margin - 9)
        return lines.enumerated().map {
            .spaces(PromptText.margin) + ($0.offset == 0 ? label : .spaces(9)) + $0.element
        }
    }

    /// Puts as many parts side by side as fit in a line, without breaking one that fits in a line by itself.
    private func row(_ parts: [TerminalText]) -> [TerminalText] {
        var lines: [TerminalText] = []
        for part in parts {
            if let last = lines.last, last.columns + PromptText.margin + part.columns <= width {
                lines[lines.count - 1] = last + .spaces(PromptText.margin) + part
            } else {
                lines += indented(part, hanging: 4)
            }
        }
        return lines
    }

    private func lines(_ lines: [TerminalText]) -> TerminalText { "\n" + lines.joined(separator: "\n") + "\n" }
}
