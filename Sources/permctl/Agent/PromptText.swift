// How a prompt looks in a terminal: plain lines, wrapped, nothing but text.

import PermissionClient

struct PromptText {
    let prompt: AgentPrompt
    let columns: Int

    /// In the order of their keys; the last one, nil, is Not Now.
    var choices: [PromptChoice?] {
        PromptChoice.offered(prompt.durations).filter { $0 != .deny } + [.deny, nil]
    }

    /// A portal that keeps the answer itself has its own words for it.
    static func label(_ choice: PromptChoice?, _ item: AgentPrompt.Item) -> String {
        guard let choice else { return label(choice) }
        if let own = item.portalLabel(choice) { return own }
        return item.permission.isOfPortals && choice != .deny ? "Allow" : label(choice)
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

    /// Shown before the question.
    func explanation(_ explanation: Explanation) -> String {
        lines(
            [rule("\(prompt.displayName) says")] + wrap(explanation.title, indent: 3) + [""]
                + wrap(explanation.body, indent: 3)
                + ["", "   [1] Continue   [2] Not Now"])
    }

    func question(_ item: AgentPrompt.Item, number: Int) -> String {
        let title = PromptText.wish(item.permission).map { "\(prompt.displayName) wants to \($0)" }
        var text = [rule(title ?? prompt.displayName)]
        if title == nil { text += wrap(item.dialog?.title ?? "", indent: 3) }
        if prompt.items.count > 1 { text += fact("Question", "\(number) of \(prompt.items.count)") }
        text += fact("App", prompt.app + (prompt.isSandboxed ? " (sandboxed)" : ""))
        text += fact("Device", item.deviceName)
        text += why(item)
        text += fact("Waiting", prompt.waiting == 0 ? "" : "\(prompt.waiting) more")
        text.append("")
        text += wrap(
            choices.enumerated().map {
                "[\($0.offset + 1)]\u{A0}\(PromptText.label($0.element, item).replacing(" ", with: "\u{A0}"))"
            }
            .joined(separator: "   "), indent: 3
        ).map { $0.replacing("\u{A0}", with: " ") }
        return lines(text)
    }

    private func why(_ item: AgentPrompt.Item) -> [String] {
        guard item.dialog != nil else {
            return fact("Why", item.reason.isEmpty ? "it does not say" : "“\(item.reason)”")
        }
        let words = item.portalWords
        return words.isEmpty ? [] : fact("Request", "“\(words)”")
    }

    /// The options of a portal's dialog with their keys, letters, and what is selected.
    func options(_ item: AgentPrompt.Item, _ selected: [String: String]) -> String {
        let lines = PromptText.options(of: item).enumerated().flatMap { index, option -> [String] in
            let isOn = selected[option.choice.id] == option.selection
            let mark = option.choice.isCheckbox ? (isOn ? "[x]" : "[ ]") : (isOn ? "(•)" : "( )")
            let text = option.choice.isCheckbox ? option.label : "\(option.choice.label): \(option.label)"
            return wrap("[\(PromptText.key(index))] \(mark) \(text)", indent: 3)
        }
        return lines.isEmpty ? "" : self.lines(lines)
    }

    /// What can be selected of a question's dialog, one for each key; of a checkbox its tick.
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

    /// Nil for what has a title of its own.
    private static func wish(_ permission: Permission) -> String? {
        switch permission {
        case .camera: "use the camera"
        case .microphone: "use the microphone"
        case .bluetooth: "use Bluetooth"
        case .location: "know your location"
        case .background, .screenshot, .speakers, .wallpaper, .other: nil
        }
    }

    private func rule(_ title: String) -> String {
        "── \(title) " + String(repeating: "─", count: max(2, min(columns, 78) - title.count - 4))
    }

    private func fact(_ name: String, _ value: String) -> [String] {
        guard !value.isEmpty else { return [] }
        let label = name + String(repeating: " ", count: max(0, 9 - name.count))
        var text = wrap(value, indent: 12)
        text[0] = "   " + label + text[0].dropFirst(12)
        return text
    }

    /// Breaks between words, and within one that is longer than a line.
    func wrap(_ text: String, indent: Int) -> [String] {
        let width = max(20, min(columns, 100) - indent - 1)
        var result: [String] = []
        var line = ""
        for word in text.split(separator: " ", omittingEmptySubsequences: false) {
            var word = word
            while line.isEmpty, word.count > width {
                result.append(String(word.prefix(width)))
                word = word.dropFirst(width)
            }
            if line.isEmpty {
                line = String(word)
            } else if line.count + 1 + word.count <= width {
                line += " \(word)"
            } else {
                result.append(line)
                line = ""
                while word.count > width {
                    result.append(String(word.prefix(width)))
                    word = word.dropFirst(width)
                }
                line = String(word)
            }
        }
        result.append(line)
        return result.map { String(repeating: " ", count: indent) + $0 }
    }

    private func lines(_ lines: [String]) -> String { "\n" + lines.joined(separator: "\n") + "\n" }
}
