// What the person has set in a prompt so far, and the answers that follow from it.

import PermissionClient

struct PromptForm {
    let items: [AgentPrompt.Item]
    /// How long a grant may be in force, the shortest first; empty if only a portal keeps the answers.
    let durations: [PromptChoice]
    private(set) var duration: PromptChoice?
    /// Whether each item is switched on, that is, granted by Allow.
    private(set) var isOn: [Bool]
    /// The selected options of a portal dialog's choices, by the choice's ID, for each item.
    private var selections: [[String: String]]

    init(_ items: [AgentPrompt.Item], _ durations: [Duration.Word]) {
        self.items = items
        isOn = items.map { _ in true }
        selections = items.map { item in
            Dictionary((item.dialog?.choices ?? []).map { ($0.id, $0.initial) }) { $1 }
        }
        let offered = PromptChoice.offered(durations).filter { $0 != .deny }
        self.durations = items.allSatisfy(\.isOfPortal) ? [] : offered
        duration = offered.first
    }

    /// One permission needs no switch.
    var hasSwitches: Bool { items.count > 1 }

    /// Whether Allow would allow anything.
    var mayAllow: Bool { duration != nil && isOn.contains(true) }

    mutating func turn(_ index: Int, on: Bool) {
        if isOn.indices.contains(index) { isOn[index] = on }
    }

    mutating func choose(_ duration: PromptChoice) {
        if durations.contains(duration) { self.duration = duration }
    }

    func selection(of choice: PortalChoice, in index: Int) -> String { selections[index][choice.id] ?? choice.initial }

    mutating func select(_ option: String, of id: String, in index: Int) {
        if selections.indices.contains(index) { selections[index][id] = option }
    }

    /// Grants what is switched on. The rest stays undecided.
    func allowed() -> AgentAnswer {
        guard mayAllow, let duration else { return .dismissed }
        return answer(duration) { isOn[$0] }
    }

    /// Refuses everything that the prompt asks.
    func denied() -> AgentAnswer { answer(.deny) { _ in true } }

    private func answer(_ choice: PromptChoice, _ isMeant: (Int) -> Bool) -> AgentAnswer {
        var decisions: [Question: ItemDecision] = [:]
        for (index, item) in items.enumerated() where isMeant(index) {
            var decision = choice.decision
            decision.choices = selections[index]
            decisions[item.question] = decision
        }
        return .answered(decisions)
    }
}
