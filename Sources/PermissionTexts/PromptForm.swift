// What the person has set in a prompt so far, and the answers that follow from it.

public import PermissionClient

/// The state of a prompt while a person decides, in a window or in a terminal.
public struct PromptForm: Sendable {
    /// What is asked, in the order of the prompt.
    public let items: [AgentPrompt.Item]
    /// The answers that allow, the shortest first.
    public let grants: [PromptChoice]
    /// Whether only a portal keeps the answers, for as long as it wants.
    public let isOfPortal: Bool
    /// Whether each item is switched on, that is, granted by an answer that allows.
    public private(set) var isOn: [Bool]
    /// Whether a window shows all answers.
    public private(set) var showsAll = false
    /// The selected options of a portal dialog's choices, by the choice's ID, for each item.
    private var selections: [[String: String]]

    /// Everything is switched on.
    public init(_ items: [AgentPrompt.Item], _ durations: [Duration.Kind]) {
        self.items = items
        isOn = items.map { _ in true }
        selections = items.map { item in
            Dictionary((item.dialog?.choices ?? []).map { ($0.id, $0.initial) }) { $1 }
        }
        isOfPortal = !items.isEmpty && items.allSatisfy(\.isOfPortal)
        let offered = PromptChoice.offered(durations).filter { $0 != .deny }
        grants = isOfPortal ? Array(offered.prefix(1)) : offered
    }

    /// Whether an answer can only hold for the process that asks.
    public var isForThisTime: Bool { !isOfPortal && grants == [.once] }

    /// One permission needs no switch.
    public var hasSwitches: Bool { items.count > 1 }

    /// Whether there is something to allow.
    public var mayAllow: Bool { !grants.isEmpty && isOn.contains(true) }

    /// The answers that allow and are shown at first: the shortest and the longest.
    private var usual: [PromptChoice] { grants.count > 2 ? [grants[0], grants[grants.count - 1]] : grants }

    /// The answers that allow and are shown.
    public var shown: [PromptChoice] { showsAll ? grants : usual }

    /// Whether there are more answers than those that are shown at first.
    public var hasMore: Bool { usual.count < grants.count }

    /// Shows all answers, or the usual ones again.
    public mutating func toggleMore() { showsAll.toggle() }

    /// Switches an item on or off.
    public mutating func turn(_ index: Int, on: Bool) {
        if isOn.indices.contains(index) { isOn[index] = on }
    }

    /// The ID of the selected option of a choice of an item; `true` or `false` for a checkbox.
    public func selection(of choice: PortalChoice, in index: Int) -> String {
        selections[index][choice.id] ?? choice.initial
    }

    /// Selects an option of the choice with this ID.
    public mutating func select(_ option: String, of id: String, in index: Int) {
        if selections.indices.contains(index) { selections[index][id] = option }
    }

    /// The answer that a choice gives: one that allows grants what is switched on, and the rest stays undecided; a
    /// refusal is about everything.
    public func answer(_ choice: PromptChoice) -> AgentAnswer {
        guard choice == .deny || mayAllow && grants.contains(choice) else { return .dismissed }
        var decisions: [PromptItem: ItemDecision] = [:]
        for (index, item) in items.enumerated() where choice == .deny || isOn[index] {
            var decision = choice.decision
            decision.choices = selections[index]
            decisions[item.id] = decision
        }
        return .answered(decisions)
    }
}
