// What an agent shows, and what it says to it.

import DBus
public import PermissionModel

/// One prompt. All texts are safe to show as plain text, whoever sent them; markup in them is not markup.
public struct AgentPrompt: Sendable, Identifiable {
    /// One question of the prompt.
    public struct Item: Sendable, Hashable {
        public let question: Question
        /// Of the device that would be used; empty when there are several or none has a name.
        public let deviceName: String
        /// Why the app wants it, in the app's words; may be empty.
        public let reason: String
        /// What a desktop portal wants shown, when the question comes through one. For a question of the portal's own
        /// (``Question/portal(_:)``) there is nothing else to show; the title is the question.
        public let dialog: PortalDialog?

        public init(question: Question, deviceName: String, reason: String, dialog: PortalDialog? = nil) {
            self.question = question
            self.deviceName = deviceName
            self.reason = reason
            self.dialog = dialog
        }

        /// The portal keeps the answer; there is no duration to choose.
        public var isOfPortal: Bool { question.permission == nil }

        /// The portal's explanation of its question, which may be the app's words; empty when there is none. Its text about
        /// changing the permission in Settings is omitted for permd's own permissions, where it does not apply.
        public var portalWords: String {
            guard let dialog else { return "" }
            return [dialog.subtitle, isOfPortal ? dialog.body : ""].filter { !$0.isEmpty }
                .joined(separator: " ")
        }

        /// The portal's own word for an answer that it keeps itself; nil where there is none.
        public func portalLabel(_ choice: PromptChoice) -> String? {
            guard isOfPortal, let dialog else { return nil }
            let label = choice == .deny ? dialog.denyLabel : dialog.grantLabel
            return label.isEmpty ? nil : label
        }
    }

    /// The prompt's object path.
    public let id: String
    /// The identity, as `flatpak:org.example.App`.
    public let app: String
    public let appName: String
    /// A name in the icon theme, or a path; may be empty.
    public let appIcon: String
    public let isSandboxed: Bool
    /// To be shown before the question, with Continue and Not Now.
    public let explanation: Explanation?
    public let items: [Item]
    /// How long a decision may hold.
    public let durations: [Duration.Word]
    /// `x11:XID` or `wayland:HANDLE`; empty for none.
    public let parentWindow: String
    /// Requests behind this one.
    public let waiting: Int
    private let withdrawal: Withdrawal

    /// A question for each permission at most, and no more choices than the daemon would send.
    private static let maximumChoices = 16
    private static let iconBytes = 4096

    init(id: String, _ details: [String: Value], _ withdrawal: Withdrawal) {
        self.id = id
        self.withdrawal = withdrawal
        app = SafeText.body(details.text("app"))
        appName = SafeText.title(details.text("app_name"))
        let icon = details.text("app_icon")
        appIcon = icon.utf8.count > AgentPrompt.iconBytes ? "" : icon
        isSandboxed = details["sandboxed"]?.boolValue ?? false
        let pair = details["explanation"]?.elements?.compactMap(\.stringValue) ?? []
        explanation =
            pair.count == 2 ? Explanation(title: SafeText.title(pair[0]), body: SafeText.body(pair[1])) : nil
        var asked: Set<Question> = []
        items = (details["items"]?.rows ?? []).compactMap { row in
            // A question this version does not know is left undecided; one that is there twice would be answered once.
            guard let question = row["permission"]?.stringValue.flatMap(Question.init(name:)),
                asked.insert(question).inserted
            else { return nil }
            return Item(
                question: question, deviceName: SafeText.title(row.text("device_name")),
                reason: SafeText.body(row.text("reason")), dialog: AgentPrompt.dialog(row))
        }
        let offered = (details["durations"]?.strings ?? []).compactMap(Duration.Word.init(rawValue:))
        durations = offered.enumerated().filter { !offered[..<$0.offset].contains($0.element) }.map(\.element)
        parentWindow = details.text("parent_window")
        waiting = Int(details["waiting"]?.uint32Value ?? 0)
    }

    private static func dialog(_ row: [String: Value]) -> PortalDialog? {
        guard row["title"]?.stringValue != nil else { return nil }
        let choices = (row["choices"]?.elements ?? []).prefix(maximumChoices).compactMap(choice)
        return PortalDialog(
            title: SafeText.title(row.text("title")), subtitle: SafeText.body(row.text("subtitle")),
            body: SafeText.body(row.text("body")), grantLabel: SafeText.title(row.text("grant_label")),
            denyLabel: SafeText.title(row.text("deny_label")), icon: SafeText.title(row.text("icon")),
            choices: choices)
    }

    private static func choice(_ value: Value) -> PortalChoice? {
        guard let fields = value.elements, fields.count == 4, let id = fields[0].stringValue else { return nil }
        let options = (fields[2].elements ?? []).prefix(maximumChoices).compactMap { option -> PortalChoice.Option? in
            guard let words = option.elements?.compactMap(\.stringValue), words.count == 2 else { return nil }
            return PortalChoice.Option(id: words[0], label: SafeText.title(words[1]))
        }
        return PortalChoice(
            id: id, label: SafeText.title(fields[1].stringValue ?? ""), options: options,
            initial: fields[3].stringValue ?? "")
    }

    /// What a person knows the app by: its name, else its identity.
    public var displayName: String { appName.isEmpty ? app : appName }

    /// Why the prompt was taken back, in words for a person; nil while it stands.
    public func withdrawnWhy() async -> String? { await withdrawal.why }
}

@LoopActor
final class Withdrawal {
    var why: String?
}

/// What a person said.
public enum AgentAnswer: Sendable, Hashable {
    /// A decision for each question; one left out stays undecided.
    case answered([Question: ItemDecision])
    /// Not now.
    case dismissed
    /// The agent could not ask: the daemon asks the next one.
    case failed(String)
}

extension [String: Value] {
    fileprivate func text(_ key: String) -> String { self[key]?.stringValue ?? "" }
}
