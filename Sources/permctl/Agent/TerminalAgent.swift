// Answers prompts in a terminal, one after the other. There is no default answer.

import PermissionClient
import PermissionTexts

final class TerminalAgent: PromptPresenter {
    private let terminal: Terminal
    /// Called when the person leaves at a question, or the terminal is closed.
    private let onLeave: @Sendable () -> Void

    init(terminal: Terminal, onLeave: @escaping @Sendable () -> Void) {
        self.terminal = terminal
        self.onLeave = onLeave
    }

    func present(_ prompt: AgentPrompt) async -> AgentAnswer {
        guard !prompt.items.isEmpty else { return .failed("a prompt without a question") }
        guard terminal.isForeground else { return .failed("the terminal agent is in the background") }
        terminal.begin()
        let (answer, outcome) = await withTaskCancellationHandler {
            await ask(prompt)
        } onCancel: {
            terminal.stop()
        }
        terminal.end()
        terminal.say([TerminalLine(text: "→ " + outcome)])
        return answer
    }

    /// Returns the answer, and what to say about it.
    private func ask(_ prompt: AgentPrompt) async -> (AgentAnswer, TerminalText) {
        var lines = PromptLines(prompt)
        terminal.say(lines.lines)
        terminal.show(status: lines.behind(prompt.behind))
        let updates = Task { [lines, terminal] in
            var names = Dictionary(prompt.items.map { ($0.id, $0.deviceName) }) { first, _ in first }
            for await change in prompt.changes {
                let renamed = change.deviceNames.filter { names.updateValue($1, forKey: $0) != $1 }
                if !renamed.isEmpty {
                    terminal.say(lines.named(renamed))
                    terminal.delayKeys()
                }
                terminal.show(status: lines.behind(change.behind))
            }
        }
        defer { updates.cancel() }
        while true {
            switch await terminal.next() {
            case .stopped:
                let why = await prompt.withdrawnWhy() ?? .closed
                return (.failed("withdrawn"), PromptLines.text(Texts.text("withdrawn: %@", PromptTexts.withdrawn(why))))
            case .left:
                onLeave()
                return (.failed("the terminal agent is exiting"), PromptLines.text(Texts.text("the agent quits")))
            case .key(let key):
                let action = lines.action(key)
                if let action, let answer = TerminalAgent.answer(action, lines.form) {
                    return (answer, lines.summary(action))
                }
                // Whoever presses other keys may be typing something else.
                if action == nil { terminal.delayKeys() }
                switch action {
                case .details?:
                    let earlier = try? await PermissionSettings().decisions(app: prompt.app)
                    terminal.say(lines.details(earlier))
                case let action?: terminal.say(lines.apply(action))
                case nil: terminal.say([lines.help])
                }
            }
        }
    }

    /// nil for a key that changes or shows something, and while nothing is switched on for Allow.
    private static func answer(_ action: PromptLines.Action, _ form: PromptForm) -> AgentAnswer? {
        switch action {
        case .answer(let choice): return choice == .deny || form.mayAllow ? form.answer(choice) : nil
        case .notNow: return .dismissed
        case .details, .turn, .select: return nil
        }
    }
}
