// A dialog shown by the desktop's portal backend: its arguments, and the meaning of its results.

import DBus
import PermissionClient
import PermissionTexts

/// The texts and choices of one dialog.
struct BorrowedDialog {
    private let appID: String
    private let parentWindow: String
    private let title: String
    private let subtitle: String
    private let body: String
    private let grant: String
    private let deny: String
    private let icon: String
    private let durations: [Duration.Word]
    /// The choices of the portal's dialog that this one is shown for.
    private let choices: [PortalChoice]

    init(_ explanation: Explanation, _ prompt: AgentPrompt) {
        self.init(
            prompt, title: explanation.title, subtitle: PromptTexts.says(prompt),
            body: explanation.body, grant: Texts.text("Continue"), deny: Texts.text("Not now"), durations: [])
    }

    init(_ item: AgentPrompt.Item, number: Int, _ prompt: AgentPrompt) {
        var lines: [String] = []
        if !item.deviceName.isEmpty { lines.append(Texts.text("Device: %@", Texts.isolated(item.deviceName))) }
        if prompt.items.count > 1 { lines.append(Texts.text("%@ of %@", "\(number)", "\(prompt.items.count)")) }
        self.init(
            prompt, title: PromptTexts.question(item, prompt), subtitle: PromptTexts.reason(item),
            body: lines.joined(separator: "\n"),
            grant: item.portalLabel(.once) ?? Texts.text("Allow"),
            deny: item.portalLabel(.deny) ?? PromptTexts.label(.deny),
            durations: item.isOfPortal
                ? [] : [.once, .session, .always].filter(prompt.durations.contains),
            choices: item.dialog?.choices ?? [])
    }

    private init(
        _ prompt: AgentPrompt, title: String, subtitle: String, body: String, grant: String, deny: String,
        durations: [Duration.Word], choices: [PortalChoice] = []
    ) {
        appID = prompt.app.hasPrefix("flatpak:") ? String(prompt.app.dropFirst("flatpak:".count)) : ""
        parentWindow = prompt.parentWindow
        icon = prompt.appIcon
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.grant = grant
        self.deny = deny
        self.durations = durations
        self.choices = choices
    }

    /// The arguments of AccessDialog, `osssssa{sv}`.
    func arguments(handle: String) -> [Value] {
        var options: [String: Value] = [
            "modal": .bool(true), "grant_label": text(grant), "deny_label": text(deny),
        ]
        // Only a name: the backend must not open a file that an app chose.
        if !icon.isEmpty, !icon.contains("/") { options["icon"] = .string(icon) }
        let rows = choices.map { encoded($0.id, $0.label, $0.options.map { ($0.id, $0.label) }, $0.initial) }
        let lengths = durations.map { ($0.rawValue, BorrowedDialog.label($0)) }
        let howLong =
            durations.isEmpty
            ? [] : [encoded(BorrowedDialog.lengthID, Texts.text("How long"), lengths, Duration.Word.once.rawValue)]
        if !(rows + howLong).isEmpty { options["choices"] = .array(of: "(ssa(ss)s)", rows + howLong) }
        return [
            .objectPath(handle), .string(appID), .string(parentWindow), text(title), text(subtitle), text(body),
            .properties(options),
        ]
    }

    private func encoded(_ id: String, _ label: String, _ options: [(String, String)], _ initial: String) -> Value {
        .structure([
            .string(id), text(label),
            .array(of: "(ss)", options.map { .structure([.string($0.0), text($0.1)]) }), .string(initial),
        ])
    }

    /// Some backends use the text as a printf format. The full-width percent sign looks alike and has no meaning there.
    private func text(_ text: String) -> Value { .string(text.replacing("%", with: "％")) }

    private static func label(_ duration: Duration.Word) -> String {
        switch duration {
        case .once: Texts.text("Only this time")
        case .session: Texts.text("Until I log out")
        case .until, .always: Texts.text("Always")
        }
    }

    /// The id of the agent's own choice of duration, added to the portal's choices; no portal uses this id.
    private static let lengthID = "duration"

    /// The selected option of each choice, by the choice's id; a choice that the desktop did not show is missing.
    func selections(in results: Value) -> [String: String] {
        var selections: [String: String] = [:]
        for choice in choices { selections[choice.id] = BorrowedDialog.selection(choice.id, in: results) }
        return selections
    }

    /// The duration in the results; `once` if there is none.
    static func duration(of results: Value) -> Duration {
        switch selection(lengthID, in: results) {
        case Duration.Word.session.rawValue: .session
        case Duration.Word.always.rawValue: .always
        default: .once
        }
    }

    /// Finds a choice in any of the forms in use: the specification has `choices` as a(ss), portal-gtk sends a
    /// dictionary, and GNOME Shell puts the choices directly into the results.
    private static func selection(_ id: String, in value: Value) -> String? {
        if let table = value.stringTable { return table[id] }
        if let table = value.properties {
            return table[id]?.stringValue ?? table.values.lazy.compactMap { selection(id, in: $0) }.first
        }
        for pair in value.elements ?? [] {
            let words = pair.elements?.compactMap(\.stringValue) ?? []
            if words.count == 2, words[0] == id { return words[1] }
        }
        return nil
    }
}
