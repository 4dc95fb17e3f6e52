// What an agent shows, and what it says to it.

import DBus
public import PermissionModel

/// One prompt. All texts are safe to show as plain text; markup in them is not markup.
public struct AgentPrompt: Sendable, Identifiable {
    /// One question of the prompt.
    public struct Item: Sendable, Hashable {
        public let permission: Permission
        /// Of the device that would be used; empty when there are several or none has a name.
        public let deviceName: String
        /// Why the app wants it, in the app's words; may be empty.
        public let reason: String
        /// What a desktop portal wants shown, when the question comes through one. For a permission that only portals
        /// ask about (``Permission/isOfPortals``) it is all there is; the title is the question.
        public let dialog: PortalDialog?

        public init(permission: Permission, deviceName: String, reason: String, dialog: PortalDialog? = nil) {
            self.permission = permission
            self.deviceName = deviceName
            self.reason = reason
            self.dialog = dialog
        }

        /// What the portal says of its question, which may be the app's words; empty for nothing. Of a permission that
        /// is ours not where it is changed, which is not true here.
        public var portalWords: String {
            guard let dialog else { return "" }
            return [dialog.subtitle, permission.isOfPortals ? dialog.body : ""].filter { !$0.isEmpty }
                .joined(separator: " ")
        }

        /// The portal's own word for an answer that it keeps itself; nil where there is none.
        public func portalLabel(_ choice: PromptChoice) -> String? {
            guard permission.isOfPortals, let dialog else { return nil }
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

    init(id: String, _ details: [String: Value], _ withdrawal: Withdrawal) {
        func text(_ key: String) -> String { details[key]?.stringValue ?? "" }
        self.id = id
        self.withdrawal = withdrawal
        app = text("app")
        appName = text("app_name")
        appIcon = text("app_icon")
        isSandboxed = details["sandboxed"]?.boolValue ?? false
        let pair = details["explanation"]?.elements?.compactMap(\.stringValue) ?? []
        explanation = pair.count == 2 ? Explanation(title: pair[0], body: pair[1]) : nil
        items = (details["items"]?.rows ?? []).compactMap { row in
            // A question this version does not know is left undecided.
            guard let permission = row["permission"]?.stringValue.flatMap(Permission.init(rawValue:)) else {
                return nil
            }
            return Item(
                permission: permission, deviceName: row["device_name"]?.stringValue ?? "",
                reason: row["reason"]?.stringValue ?? "", dialog: AgentPrompt.dialog(row))
        }
        durations = (details["durations"]?.strings ?? []).compactMap(Duration.Word.init(rawValue:))
        parentWindow = text("parent_window")
        waiting = Int(details["waiting"]?.uint32Value ?? 0)
    }

    private static func dialog(_ row: [String: Value]) -> PortalDialog? {
        func text(_ key: String) -> String { row[key]?.stringValue ?? "" }
        guard row["title"]?.stringValue != nil else { return nil }
        let choices = (row["choices"]?.elements ?? []).compactMap { value -> PortalChoice? in
            guard let fields = value.elements, fields.count == 4, let id = fields[0].stringValue else { return nil }
            let options = (fields[2].elements ?? []).compactMap { option -> PortalChoice.Option? in
                guard let words = option.elements?.compactMap(\.stringValue), words.count == 2 else { return nil }
                return PortalChoice.Option(id: words[0], label: words[1])
            }
            return PortalChoice(
                id: id, label: fields[1].stringValue ?? "", options: options, initial: fields[3].stringValue ?? "")
        }
        return PortalDialog(
            title: text("title"), subtitle: text("subtitle"), body: text("body"), grantLabel: text("grant_label"),
            denyLabel: text("deny_label"), icon: text("icon"), choices: choices)
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
    case answered([Permission: ItemDecision])
    /// Not now.
    case dismissed
    /// The agent could not ask: the daemon asks the next one.
    case failed(String)
}
