// Answers prompts in a terminal: one question at a time, nothing by default, nothing by accident.

import PermissionClient

final class TerminalAgent: PromptPresenter {
    private let terminal: Terminal
    /// Called when the person presses Ctrl-C at a question.
    private let onLeave: @Sendable () -> Void

    init(terminal: Terminal, onLeave: @escaping @Sendable () -> Void) {
        self.terminal = terminal
        self.onLeave = onLeave
    }

    func present(_ prompt: AgentPrompt) async -> AgentAnswer {
        guard terminal.isForeground else { return .failed("the terminal agent is in the background") }
        terminal.clearStop()
        terminal.makeRaw()
        defer { terminal.restore() }
        return await withTaskCancellationHandler {
            await ask(prompt)
        } onCancel: {
            terminal.stop()
        }
    }

    /// Thrown out of a prompt.
    private enum Interruption: Error {
        case withdrawn, left, hangup
    }

    private func ask(_ prompt: AgentPrompt) async -> AgentAnswer {
        do throws(Interruption) {
            return try await questions(prompt)
        } catch {
            switch error {
            case .withdrawn:
                let why = await prompt.withdrawnWhy() ?? ""
                terminal.write("   withdrawn\(why.isEmpty ? "" : ": \(why)")\n")
                return .failed("withdrawn")
            case .left:
                terminal.write("   leaving\n")
                onLeave()
                return .failed("the terminal agent leaves")
            case .hangup:
                onLeave()
                return .failed("the terminal is gone")
            }
        }
    }

    private func questions(_ prompt: AgentPrompt) async throws(Interruption) -> AgentAnswer {
        let text = PromptText(prompt: prompt, columns: terminal.columns)
        if let explanation = prompt.explanation {
            terminal.write(text.explanation(explanation))
            guard try await choose(2, escape: 1) == 0 else { return say("Not Now", .dismissed) }
            terminal.write("   → Continue\n")
        }
        var decisions: [Permission: ItemDecision] = [:]
        let choices = text.choices
        for (index, item) in prompt.items.enumerated() {
            terminal.write(text.question(item, number: index + 1))
            let choice = choices[try await choose(choices.count, escape: choices.count - 1)]
            terminal.write("   → \(PromptText.label(choice))\n")
            decisions[item.permission] = choice?.decision
        }
        return decisions.isEmpty ? .dismissed : .answered(decisions)
    }

    private func say(_ label: String, _ answer: AgentAnswer) -> AgentAnswer {
        terminal.write("   → \(label)\n")
        return answer
    }

    /// The index of the choice; Escape is the last one, which decides nothing.
    private func choose(_ count: Int, escape: Int) async throws(Interruption) -> Int {
        while true {
            switch await terminal.guardedKey() {
            case .character(let character):
                if let number = character.wholeNumberValue, (1...count).contains(number) { return number - 1 }
            case .escape: return escape
            case .leave: throw .left
            case .hangup: throw .hangup
            case .stopped: throw .withdrawn
            }
        }
    }
}
