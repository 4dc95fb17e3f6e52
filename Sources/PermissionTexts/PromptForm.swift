// What the person has set in a prompt so far, and the answers that follow from it.

public import PermissionClient

/// The state of a prompt while a person decides, in a window or in a terminal.
public struct PromptForm: Sendable {
    /// What is asked, in the order of the prompt.
    public let items: [AgentPrompt.Item]
    /// How long a grant may be in force, the shortest first; empty if only a portal keeps the answers.
    public let durations: [PromptChoice]
    /// How long a grant will be in force; nil if nothing can be granted.
    public private(set) var duration: PromptChoice?
    /// Whether each item is switched on, that is, granted by Allow.
    public private(set) var isOn: [Bool]
    /// The selected options of a portal dialog's choices, by the choice's ID, for each item.
    private var selections: [[String: String]]

    /// Everything is switched on, and the shortest duration is chosen.
    public init(_ items: [AgentPrompt.Item], _ durations: [Duration.Kind]) {
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
    public var hasSwitches: Bool { items.count > 1 }

    /// Whether Allow would allow anything.
    public var mayAllow: Bool { duration != nil && isOn.contains(true) }

    /// Switches an item on or off.
    public mutating func turn(_ index: Int, on: Bool) {
        if isOn.indices.contains(index) { isOn[index] = on }
    }

    /// Chooses a duration, if it is offered.
    public mutating func choose(_ duration: PromptChoice) {
        if durations.contains(duration) { self.duration = duration }
    }

    /// The ID of the selected option of a choice of an item; `true` or `false` for a checkbox.
    public func selection(of choice: PortalChoice, in index: Int) -> String {
        selections[index][choice.id] ?? choice.initial
    }

    /// Selects an option of the choice with this ID.
    public mutating func select(_ option: String, of id: String, in index: Int) {
        if selections.indices.contains(index) { selections[index][id] = option }
    }

    /// Grants what is switched on. The rest stays undecided.
    public func allowed() -> AgentAnswer {
        guard mayAllow, let duration else { return .dismissed }
        return answer(duration) { isOn[$0] }
    }

    /// Refuses everything that the prompt asks.
    public func denied() -> AgentAnswer { answer(.deny) { _ in true } }

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
