// The pages of a prompt, the explanation and then each question, and the answers given so far.

import PermissionClient

struct PromptFlow {
    enum Page: Equatable {
        case explanation(Explanation)
        /// The question with this index.
        case question(Int)
        case over(AgentAnswer)
    }

    let items: [AgentPrompt.Item]
    let choices: [PromptChoice]
    private(set) var page: Page
    private var seen: Set<Int> = []
    private var decisions: [Question: ItemDecision] = [:]
    /// The selected options of a portal dialog's choices, by question and by the choice's id.
    private var selections: [Int: [String: String]] = [:]

    init(_ prompt: AgentPrompt) {
        self.init(items: prompt.items, durations: prompt.durations, explanation: prompt.explanation)
    }

    init(items: [AgentPrompt.Item], durations: [Duration.Word], explanation: Explanation?) {
        self.items = items
        choices = PromptChoice.offered(durations)
        page = explanation.map { .explanation($0) } ?? .question(0)
        for (index, item) in items.enumerated() {
            guard let choices = item.dialog?.choices, !choices.isEmpty else { continue }
            selections[index] = Dictionary(choices.map { ($0.id, $0.initial) }) { $1 }
        }
        if items.isEmpty { page = .over(.failed("a prompt without a question")) }
        note()
    }

    /// Whether every question was shown, so that all may be answered together.
    var mayAllowAll: Bool { items.count > 1 && seen.count == items.count }

    /// Whether another question follows, which may be viewed before this one is answered.
    var hasNext: Bool { if case .question(let index) = page { index + 1 < items.count } else { false } }
    var hasPrevious: Bool { if case .question(let index) = page { index > 0 } else { false } }

    mutating func proceed() {
        guard case .explanation = page else { return }
        page = .question(0)
        note()
    }

    mutating func answer(_ choice: PromptChoice) {
        guard case .question(let index) = page else { return }
        decide(index, choice)
        let open = items.indices.filter { decisions[items[$0].question] == nil }
        page = (open.first { $0 > index } ?? open.first).map { .question($0) } ?? .over(.answered(decisions))
        note()
    }

    /// Grants every question for this time only.
    mutating func allowAll() {
        guard mayAllowAll, choices.contains(.once) else { return }
        for index in items.indices { decide(index, .once) }
        page = .over(.answered(decisions))
    }

    /// The selected option of a choice in the question on screen.
    func selection(of choice: PortalChoice) -> String {
        guard case .question(let index) = page else { return choice.initial }
        return selections[index]?[choice.id] ?? choice.initial
    }

    /// Selects an option of a choice, without answering the question.
    mutating func select(_ option: String, of id: String) {
        guard case .question(let index) = page else { return }
        selections[index]?[id] = option
    }

    mutating func turn(by step: Int) {
        guard case .question(let index) = page, items.indices.contains(index + step) else { return }
        page = .question(index + step)
        note()
    }

    /// Not Now: the answers given so far count, the rest stays undecided.
    mutating func dismiss() {
        if case .over = page { return }
        page = .over(decisions.isEmpty ? .dismissed : .answered(decisions))
    }

    private mutating func decide(_ index: Int, _ choice: PromptChoice) {
        var decision = choice.decision
        decision.choices = selections[index] ?? [:]
        decisions[items[index].question] = decision
    }

    private mutating func note() {
        if case .question(let index) = page { seen.insert(index) }
    }
}
