// How a prompt looks in a terminal: plain lines, wrapped, nothing but text.

import PermissionClient

struct PromptText {
    let prompt: AgentPrompt
    let columns: Int

    /// In the order of their keys; the last one, nil, is Not Now.
    var choices: [PromptChoice?] {
        PromptChoice.offered(prompt.durations).filter { $0 != .deny } + [.deny, nil]
    }

    static func label(_ choice: PromptChoice?) -> String {
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
        var text = [rule("\(prompt.displayName) wants to \(PromptText.wish(item.permission))")]
        if prompt.items.count > 1 { text += fact("Question", "\(number) of \(prompt.items.count)") }
        text += fact("App", prompt.app + (prompt.isSandboxed ? " (sandboxed)" : ""))
        text += fact("Device", item.deviceName)
        text += fact("Why", item.reason.isEmpty ? "it does not say" : "“\(item.reason)”")
        text += fact("Waiting", prompt.waiting == 0 ? "" : "\(prompt.waiting) more")
        text.append("")
        text += wrap(
            choices.enumerated().map {
                "[\($0.offset + 1)]\u{A0}\(PromptText.label($0.element).replacing(" ", with: "\u{A0}"))"
            }
            .joined(separator: "   "), indent: 3
        ).map { $0.replacing("\u{A0}", with: " ") }
        return lines(text)
    }

    private static func wish(_ permission: Permission) -> String {
        switch permission {
        case .camera: "use the camera"
        case .microphone: "use the microphone"
        case .bluetooth: "use Bluetooth"
        case .location: "know your location"
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
