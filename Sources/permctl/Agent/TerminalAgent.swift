// Answers prompts in a terminal, one page for each. There is no default answer.

import PermissionClient
import PermissionTexts

final class TerminalAgent: PromptPresenter {
    private let terminal: Terminal
    private let glyphs: Glyphs
    /// Called when the person presses Ctrl-C or Ctrl-D at a question, or the terminal is closed.
    private let onLeave: @Sendable () -> Void

    init(terminal: Terminal, glyphs: Glyphs, onLeave: @escaping @Sendable () -> Void) {
        self.terminal = terminal
        self.glyphs = glyphs
        self.onLeave = onLeave
    }

    func present(_ prompt: AgentPrompt) async -> AgentAnswer {
        guard !prompt.items.isEmpty else { return .failed("a prompt without a question") }
        guard terminal.isForeground else { return .failed("the terminal agent is in the background") }
        terminal.clearEvents()
        terminal.beginPage()
        defer { terminal.endPage() }
        return await withTaskCancellationHandler {
            await ask(prompt)
        } onCancel: {
            terminal.stop()
        }
    }

    private func ask(_ prompt: AgentPrompt) async -> AgentAnswer {
        let answer: AgentAnswer
        let outcome: TerminalText
        do throws(TerminalPrompt.Interruption) {
            (answer, outcome) = try await TerminalPrompt(prompt, terminal, glyphs).ask()
        } catch {
            switch error {
            case .withdrawn:
                let why = await prompt.withdrawnWhy() ?? ""
                answer = .failed("withdrawn")
                outcome = glyphs.text(
                    why.isEmpty ? Texts.text("withdrawn") : Texts.text("withdrawn: %@", Texts.isolated(why)))
            case .left:
                onLeave()
                answer = .failed("the terminal agent is exiting")
                outcome = glyphs.text(Texts.text("the agent quits"))
            case .hangup:
                onLeave()
                return .failed("the terminal was closed")
            }
        }
        record(prompt, outcome)
        return answer
    }

    /// What stays on the terminal: the question, unless it was printed, and what became of it.
    private func record(_ prompt: AgentPrompt, _ outcome: TerminalText) {
        let columns = max(Typesetter.leastColumns, terminal.size.columns)
        let type = Typesetter(glyphs: glyphs, columns: columns)
        let page = TerminalPage(prompt, glyphs)
        let question = Terminal.canDraw ? type.heading(page.question(nameColumns: type.nameColumns)) : []
        let lines = question + type.paragraph(glyphs.arrow + " " + outcome, hanging: 3)
        terminal.say(lines.joined(separator: "\n") + "\n")
    }
}
