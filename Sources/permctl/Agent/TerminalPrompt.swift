// One prompt in the terminal, from its first drawing to its answer.

import PermissionClient
import PermissionTexts
import Synchronization

final class TerminalPrompt: Sendable {
    /// Why a prompt ended without an answer.
    enum Interruption: Error {
        case withdrawn, left, hangup
    }

    private enum Outcome {
        /// Something on the page is different.
        case changed
        /// The key means nothing here.
        case unknown
        case answered(PromptKeys.Answer)
        case left
    }

    /// What has become known since the page was last drawn.
    private struct News {
        var behind: AgentPrompt.Behind?
        var earlier: [String]?
    }

    private let terminal: Terminal
    private let prompt: AgentPrompt
    private let glyphs: Glyphs
    private let news = Mutex(News())

    init(_ prompt: AgentPrompt, _ terminal: Terminal, _ glyphs: Glyphs) {
        self.prompt = prompt
        self.terminal = terminal
        self.glyphs = glyphs
    }

    /// Asks until the person answers. Returns the answer, and what to say about it.
    func ask() async throws(Interruption) -> (AgentAnswer, TerminalText) {
        let updates = Task { [self] in
            for await behind in prompt.changes { tell { $0.behind = behind } }
        }
        var reading: Task<Void, Never>?
        defer {
            updates.cancel()
            reading?.cancel()
        }
        var page = TerminalPage(prompt, glyphs)
        var keyGuard = KeyGuard(at: KeyGuard.now())
        var drawing: Drawing?
        while true {
            let next = ScreenFit.drawing(page, terminal.size)
            if next != drawing { terminal.draw(next.lines) }
            // Until now, there was nothing to answer.
            if drawing?.content == .tooSmall, next.content != .tooSmall { keyGuard.arm(at: KeyGuard.now()) }
            drawing = next
            page.first = next.first
            switch await terminal.next(&keyGuard) {
            case .woken: take(&page)
            case .stopped: throw .withdrawn
            case .hangup: throw .hangup
            case .key(let key):
                page.note = nil
                switch press(key, &page, next) {
                case .changed: break
                case .unknown:
                    // Whoever presses other keys may be typing something else.
                    keyGuard.arm(at: KeyGuard.now())
                    page.note = page.note ?? .keys
                case .answered(let answer): return (self.answer(answer, page.form), page.summary(answer))
                case .left: throw .left
                }
                if page.isDetailed, reading == nil { reading = readDecisions() }
            }
        }
    }

    // MARK: Keys

    private func press(_ key: Terminal.Key, _ page: inout TerminalPage, _ drawing: Drawing) -> Outcome {
        if key == .leave { return .left }
        switch drawing.content {
        case .tooSmall: return key == .escape ? .answered(.notNow) : .unknown
        case .reading:
            if key == .escape || key == .character(PromptKeys.details) {
                page.isDetailed = false
                return .changed
            }
            return scroll(key, &page, drawing)
        case .page: break
        }
        switch key {
        case .escape: return .answered(.notNow)
        case .character(PromptKeys.details):
            page.isDetailed.toggle()
            page.first = page.isDetailed ? nil : 0
            return .changed
        case .character(let character):
            if let answer = page.keys.answer(character) {
                guard case .allow = answer, !page.form.mayAllow else { return .answered(answer) }
                page.note = .nothingOn
                return .changed
            }
            guard let option = page.keys.option(character) else { return .unknown }
            change(option, &page.form)
            return .changed
        default: return scroll(key, &page, drawing)
        }
    }

    private func scroll(_ key: Terminal.Key, _ page: inout TerminalPage, _ drawing: Drawing) -> Outcome {
        guard drawing.visible > 0 else { return .unknown }
        switch key {
        case .up: page.first = drawing.first - 1
        case .down: page.first = drawing.first + 1
        case .pageUp: page.first = drawing.first - drawing.visible
        case .pageDown: page.first = drawing.first + drawing.visible
        default: return .unknown
        }
        return .changed
    }

    private func change(_ option: PromptKeys.Option, _ form: inout PromptForm) {
        switch option {
        case .onOff(let index): form.turn(index, on: !form.isOn[index])
        case .choice(let choice, let selection, _, let index):
            let isOff = choice.isCheckbox && form.selection(of: choice, in: index) == selection
            form.select(isOff ? "false" : selection, of: choice.id, in: index)
        }
    }

    private func answer(_ answer: PromptKeys.Answer, _ form: PromptForm) -> AgentAnswer {
        var form = form
        switch answer {
        case .allow(let duration):
            if let duration { form.choose(duration) }
            return form.allowed()
        case .deny: return form.denied()
        case .notNow: return .dismissed
        }
    }

    // MARK: News

    private func tell(_ change: (inout sending News) -> Void) {
        news.withLock { change(&$0) }
        terminal.wake()
    }

    private func take(_ page: inout TerminalPage) {
        let news = self.news.withLock { news in
            defer { news = News() }
            return news
        }
        // Where a page can only be printed again, other apps must not be able to fill the terminal with it.
        if let behind = news.behind, Terminal.canDraw { page.behind = behind }
        if let earlier = news.earlier { page.earlier = earlier }
    }

    /// permd may not answer; the other details are there without it.
    private func readDecisions() -> Task<Void, Never> {
        Task { [self] in
            guard let rows = try? await PermissionSettings().decisions(app: prompt.app) else { return }
            let lines = PromptTexts.earlier(rows, prompt)
            tell { $0.earlier = lines }
        }
    }
}
