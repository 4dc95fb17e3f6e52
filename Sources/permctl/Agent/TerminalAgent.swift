// Answers prompts in a terminal, one question at a time. There is no default answer.

import PermissionClient

final class TerminalAgent: PromptPresenter {
    private let terminal: Terminal
    /// Called when the person presses Ctrl-C or Ctrl-D at a question, or the terminal is closed.
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

    /// Why a prompt ended without an answer.
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
                terminal.write(why.isEmpty ? "   withdrawn\n" : "   withdrawn: \(why)\n")
                return .failed("withdrawn")
            case .left:
                terminal.write("   leaving\n")
                onLeave()
                return .failed("the terminal agent is exiting")
            case .hangup:
                onLeave()
                return .failed("the terminal was closed")
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
        var decisions: [Question: ItemDecision] = [:]
        let choices = text.choices
        for (index, item) in prompt.items.enumerated() {
            terminal.write(text.question(item, number: index + 1))
            var selected = Dictionary((item.dialog?.choices ?? []).map { ($0.id, $0.initial) }) { $1 }
            let answer = try await choose(choices.count, escape: choices.count - 1, item, text, &selected)
            let choice = choices[answer]
            terminal.write("   → \(PromptText.label(choice, item))\n")
            decisions[item.question] = choice?.decision
            decisions[item.question]?.choices = selected
        }
        return decisions.isEmpty ? .dismissed : .answered(decisions)
    }

    private func say(_ label: String, _ answer: AgentAnswer) -> AgentAnswer {
        terminal.write("   → \(label)\n")
        return answer
    }

    /// Lets the person change a portal dialog's options until they choose an answer; returns the answer's index.
    private func choose(
        _ count: Int, escape: Int, _ item: AgentPrompt.Item, _ text: PromptText, _ selected: inout [String: String]
    ) async throws(Interruption) -> Int {
        let options = PromptText.options(of: item)
        while true {
            terminal.write(text.options(item, selected))
            let key = try await choose(count, escape: escape) { character in
                options.indices.first { PromptText.key($0) == character }.map { count + $0 }
            }
            guard key >= count else { return key }
            let option = options[key - count]
            let isOff = option.choice.isCheckbox && selected[option.choice.id] == option.selection
            selected[option.choice.id] = isOff ? "false" : option.selection
        }
    }

    /// Returns the index of the choice; `escape` is the index that the Escape key stands for.
    /// - Parameter letter: maps any other key to an index; nil for a key without a meaning.
    private func choose(
        _ count: Int, escape: Int, letter: (Character) -> Int? = { _ in nil }
    ) async throws(Interruption) -> Int {
        while true {
            switch await terminal.guardedKey() {
            case .character(let character):
                // Only ASCII digits: other characters, such as “²”, have a number value as well.
                if character.isASCII, let number = character.wholeNumberValue, (1...count).contains(number) {
                    return number - 1
                }
                if let index = letter(character) { return index }
            case .escape: return escape
            case .leave: throw .left
            case .hangup: throw .hangup
            case .stopped: throw .withdrawn
            }
        }
    }
}
