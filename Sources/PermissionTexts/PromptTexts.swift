// What a prompt says, in a window or in a terminal.

public import PermissionClient

/// The texts of a prompt, in the person's language. What the app or the portal says is marked as theirs.
public enum PromptTexts {
    // MARK: Questions

    /// The app's name as a question has it, and the question with any other in its place. A program without a desktop
    /// entry is called unknown; its name is the last part of its path.
    public static func heading(_ prompt: AgentPrompt) -> (name: String, ask: (String) -> String) {
        let permissions = prompt.items.compactMap(\.id.permission)
        guard !permissions.isEmpty else {
            // Only a portal asks this, one question at a time.
            let title = prompt.items.first?.dialog?.title ?? ""
            return ("", { _ in title })
        }
        return (prompt.displayName, { question(permissions, shown($0, prompt)) })
    }

    private static func question(_ permissions: [Permission], _ name: String) -> String {
        if permissions.count == 1 { return Texts.text(PermissionText.of(permissions[0]).question, name) }
        guard let key = PermissionText.questions[Set(permissions)] else {
            return Texts.text("%@ wants to use: %@", name, permissions.map(Texts.name).joined(separator: ", "))
        }
        return Texts.text(key, name)
    }

    private static func shown(_ name: String, _ prompt: AgentPrompt) -> String {
        guard isUnknown(prompt) else { return Texts.isolated(name) }
        return Texts.text("Unknown program %@", Texts.text("“%@”", Texts.isolated(name)))
    }

    private static func isProgram(_ prompt: AgentPrompt) -> Bool { prompt.app.hasPrefix("exe:") }

    /// Whether a program has no desktop entry, which would give it an icon.
    private static func isUnknown(_ prompt: AgentPrompt) -> Bool { isProgram(prompt) && prompt.appIcon.isEmpty }

    /// The app's reason, marked as the app's words, or the text of a question that only portals ask, which may come
    /// from the app as well; empty if there is none.
    public static func reason(_ item: AgentPrompt.Item) -> String {
        let words = item.dialog == nil ? item.reason : item.portalWords
        return words.isEmpty ? "" : Texts.text("“%@”", Texts.isolated(words))
    }

    /// The device that the app would get, and who else uses it; empty if neither is known.
    ///
    /// - Parameter name: The device's, if it has changed.
    public static func device(_ item: AgentPrompt.Item, name: String? = nil) -> String {
        let user = item.usedBy.isEmpty ? "" : Texts.text("in use by %@", Texts.isolated(item.usedBy))
        return [name ?? item.deviceName, user].filter { !$0.isEmpty }.joined(separator: " · ")
    }

    /// What is said between the question and the answers.
    public struct Reasons: Sendable {
        /// The app's reason, if it is the same for all that is asked; else empty.
        public let common: String
        /// That there is no reason; empty if there is one, or if the explanation or a portal says what there is to say.
        public let missing: String
        /// The reason of each item that is not the common one; empty for none.
        public let each: [String]
    }

    /// The app's reason stands once if it is the same for all that is asked.
    public static func reasons(_ prompt: AgentPrompt) -> Reasons {
        let all = prompt.items.map(reason)
        let none = all.map { _ in "" }
        guard let first = all.first, all.allSatisfy({ $0 == first }) else {
            return Reasons(common: "", missing: "", each: all)
        }
        let isSilent = first.isEmpty && prompt.explanation == nil && prompt.items.allSatisfy { $0.dialog == nil }
        return Reasons(
            common: first, missing: isSilent ? Texts.text("The app does not say why.") : "", each: none)
    }

    /// Introduces the app's explanation.
    public static var says: String { Texts.text("The app says:") }

    // MARK: Answers

    /// The label of an answer. A portal that stores the answer itself may have its own.
    public static func label(_ choice: PromptChoice, _ form: PromptForm) -> String {
        if form.items.count == 1, let label = form.items[0].portalLabel(choice) { return label }
        guard form.isOfPortal else {
            return form.isForThisTime && choice == .deny ? Texts.text("Don't allow this time") : label(choice)
        }
        return choice == .deny ? Texts.text("Don't allow") : Texts.text("Allow")
    }

    /// Says how long the answer is in force.
    private static func label(_ choice: PromptChoice) -> String {
        switch choice {
        case .deny: Texts.text("Never allow")
        case .once: Texts.text("Allow this time")
        case .hour: Texts.text("Allow for one hour")
        case .session: Texts.text("Allow until I log out")
        case .always: Texts.text("Always allow")
        }
    }

    /// What a screen reader adds to the label of an answer; empty if only a portal keeps it.
    public static func description(_ choice: PromptChoice, _ form: PromptForm) -> String {
        if form.isOfPortal { return "" }
        return switch choice {
        case .deny where form.isForThisTime: Texts.text("Holds until the app is closed")
        case .deny, .always: Texts.text("Holds until you change it in Permissions")
        case .once: Texts.text("Holds until the app is closed")
        case .hour: Texts.text("Holds for one hour")
        case .session: Texts.text("Holds until you log out")
        }
    }

    public static func notNow(_ prompt: AgentPrompt) -> String {
        guard let pause = prompt.pause else { return Texts.text("Decides nothing; the app may ask again") }
        return Texts.text("Decides nothing; the app cannot ask again for %@ minutes", minutes(pause))
    }

    public static func pause(_ seconds: UInt32) -> String {
        Texts.text("After Not now, the app cannot ask again for %@ minutes.", minutes(seconds))
    }

    /// Why no answer counts yet: the prompt has just appeared.
    public static var oneMoment: String { Texts.text("One moment…") }

    /// Why a prompt has gone, after "withdrawn: ".
    public static func withdrawn(_ why: WithdrawalReason) -> String {
        switch why {
        case .closed: Texts.text("the app withdrew it")
        case .left: Texts.text("the app is gone")
        case .decided: Texts.text("it was decided elsewhere")
        case .timeout: Texts.text("it was not answered in time")
        case .absent: Texts.text("nobody is there; it comes again")
        case .unregistered: Texts.text("another agent shows it")
        case .stopping: Texts.text("permd is stopping")
        }
    }

    /// Why no answer counts yet: the prompt is a window behind another one, or was.
    public static var clickFirst: String { Texts.text("Click here to answer.") }

    /// Says why a screen keyboard or remote control does not answer.
    public static var inputRefused: String {
        Texts.text("Other programs cannot type or click here (see permd-agent(1)).")
    }

    private static func minutes(_ seconds: UInt32) -> String { "\(max(1, (UInt64(seconds) + 30) / 60))" }

    // MARK: Around the question

    /// Which apps ask next; empty if none does.
    public static func behind(_ waiting: AgentPrompt.Behind) -> String {
        guard waiting.count > 0 else { return "" }
        let names = waiting.apps.prefix(2).map(Texts.isolated).joined(separator: ", ")
        let more = waiting.count - min(2, waiting.apps.count)
        return more > 0
            ? Texts.text("Asking next: %@ and %@ more", names, "\(more)") : Texts.text("Asking next: %@", names)
    }

    /// A line for each thing to know about the app.
    public static func details(_ prompt: AgentPrompt) -> [String] {
        var lines = [Texts.text("Name: %@", Texts.isolated(prompt.displayName))]
        lines.append(
            isProgram(prompt)
                ? Texts.text("Program: %@", Texts.isolated(String(prompt.app.dropFirst("exe:".count))))
                : Texts.text("Identity: %@", Texts.isolated(prompt.app)))
        lines.append(
            prompt.isSandboxed
                ? Texts.text("In a sandbox: it gets only what it is allowed.")
                : Texts.text("Not in a sandbox: it can open devices without asking."))
        if !prompt.startedFrom.isEmpty {
            lines.append(Texts.text("Started from %@", Texts.isolated(prompt.startedFrom)))
        }
        if let since = prompt.since { lines.append(Texts.text("Asked at %@", Texts.time(since))) }
        return lines
    }

    /// What was decided before about what the prompt asks, a line for each decision.
    public static func earlier(_ rows: [DecisionRow], _ prompt: AgentPrompt) -> [String] {
        let asked = prompt.items.compactMap(\.id.permission)
        let lines = rows.compactMap { decision($0, among: asked) }
        return lines.isEmpty ? [Texts.text("Nothing was decided about this before.")] : lines
    }

    /// How to change the decision later, without the settings window.
    public static func changeLater(_ prompt: AgentPrompt) -> String {
        Texts.text("You can change it later with: %@", "permctl reset \(ShellWord.quoted(prompt.app))")
    }

    /// What was decided before about something that the prompt asks; nil for another decision.
    private static func decision(_ row: DecisionRow, among asked: [Permission]) -> String? {
        guard let permission = row.item.permission, asked.contains(permission) else { return nil }
        let name = Texts.name(permission)
        switch row.decision {
        case .deny: return Texts.text("%@: not allowed", name)
        case .pause: return Texts.text("%@: not asked until %@", name, Texts.time(row.until ?? 0))
        case .unknown: return nil
        case .grant:
            switch row.duration {
            case .once: return Texts.text("%@: allowed until the app is closed", name)
            case .session: return Texts.text("%@: allowed until you log out", name)
            case .until: return Texts.text("%@: allowed until %@", name, Texts.time(row.until ?? 0))
            case .always, nil: return Texts.text("%@: always allowed", name)
            }
        }
    }
}
