// A prompt as an agent receives it, and its answer.

import DBus
public import PermissionModel

/// A prompt that an agent shows: the argument `details` of org.permd.Agent1.Prompt.
///
/// All strings that are shown are safe to show as plain text. They must not be interpreted as markup.
public struct AgentPrompt: Sendable, Identifiable {
    /// One thing that the prompt asks about.
    public struct Item: Sendable, Hashable, Identifiable {
        /// What is asked about.
        public let id: PromptItem
        /// The name of the device that the app would get; empty if it has no name.
        public let deviceName: String
        /// The name of another app that uses such a device now, where only one can; empty if none does.
        public let usedBy: String
        /// Why the app wants it, in the app's words; may be empty.
        public let reason: String
        /// The dialog of the portal through which the app asks; nil if it asks permd itself. For a question that only
        /// portals ask, the dialog's title is the question, and there is nothing else to show.
        public let dialog: PortalDialog?

        /// Creates an item, for tests of an agent.
        public init(
            id: PromptItem, deviceName: String, usedBy: String = "", reason: String, dialog: PortalDialog? = nil
        ) {
            self.id = id
            self.deviceName = deviceName
            self.usedBy = usedBy
            self.reason = reason
            self.dialog = dialog
        }

        /// Whether only portals ask this question. The portal stores the answer, so there is no duration to choose.
        public var isOfPortal: Bool { id.permission == nil }

        /// The portal's explanation of a question that only portals ask, which may be the app's words; empty when there
        /// is none. For permd's own permissions, a portal only repeats the question.
        public var portalWords: String {
            guard let dialog, isOfPortal else { return "" }
            return [dialog.subtitle, dialog.body].filter { !$0.isEmpty }.joined(separator: " ")
        }

        /// The portal's label for an answer that it stores itself; nil if it has none.
        public func portalLabel(_ choice: PromptChoice) -> String? {
            guard isOfPortal, let dialog else { return nil }
            let label = choice == .deny ? dialog.denyLabel : dialog.grantLabel
            return label.isEmpty ? nil : label
        }
    }

    /// The prompt's object path.
    public let id: String
    /// The identity of the app, such as `flatpak:org.example.App`.
    public let app: String
    /// The name of the app, from its desktop entry, or else from its identity.
    public let appName: String
    /// A name in the icon theme or a path; may be empty. The app may supply the file: limit how much of it is decoded.
    public let appIcon: String
    /// Whether the app is sandboxed, or in a container.
    public let isSandboxed: Bool
    /// The name of what the desktop had started that started the app, such as a terminal; empty if that is the app itself, or
    /// not known.
    public let startedFrom: String
    /// To be shown before the first question, with Continue and Not now, as the app's words.
    public let explanation: Explanation?
    /// The questions, each at most once. Empty if this version knows none of them: answer ``AgentAnswer/failed(_:)``
    /// then.
    public let items: [Item]
    /// The durations for which a grant may be in force.
    public let durations: [Duration.Kind]
    /// The window of the app, `x11:XID` or `wayland:HANDLE`; empty for none.
    public let parentWindow: String
    /// When the app asked.
    public let since: EpochSeconds?
    /// Seconds for which Not now keeps the app from asking again; nil if it may ask again at once.
    public let pause: UInt32?
    /// What waited behind this prompt when it was sent.
    public let behind: Behind
    private let link: PromptLink

    /// The requests that wait behind a prompt.
    public struct Behind: Sendable, Hashable {
        /// How many there are.
        public let count: Int
        /// The names of the apps of the first of them, in their order.
        public let apps: [String]

        /// Creates a value, for tests of an agent.
        public init(count: Int, apps: [String]) {
            self.count = count
            self.apps = apps
        }
    }

    /// What has changed of a prompt that is shown.
    public struct Update: Sendable, Hashable {
        /// What waits behind the prompt now.
        public let behind: Behind
        /// The names of the devices that the app would get now; without those that have none.
        public let deviceNames: [PromptItem: String]
    }

    /// What has changed of this prompt. It ends with the prompt, and has one reader; a reader that is slow gets the newest
    /// value only.
    public var changes: AsyncStream<Update> { link.changes }

    /// The maximum number of choices in a dialog, and of options of a choice. The daemon does not send more.
    private static let maximumChoices = 16
    private static let iconBytes = 4096

    /// Creates a prompt, for tests and previews of an agent.
    public init(
        app: String, appName: String, appIcon: String = "", isSandboxed: Bool = false,
        startedFrom: String = "", explanation: Explanation? = nil, items: [Item],
        durations: [Duration.Kind] = Duration.Kind.allCases,
        parentWindow: String = "", since: EpochSeconds? = nil, pause: UInt32? = nil,
        behind: Behind = Behind(count: 0, apps: [])
    ) {
        id = ""
        link = PromptLink()
        (self.app, self.appName, self.appIcon, self.isSandboxed) = (app, appName, appIcon, isSandboxed)
        self.startedFrom = startedFrom
        (self.explanation, self.items, self.durations) = (explanation, items, durations)
        (self.parentWindow, self.since, self.pause, self.behind) = (parentWindow, since, pause, behind)
    }

    init(id: String, _ details: [String: Value], _ link: PromptLink) {
        self.id = id
        self.link = link
        app = SafeText.body(details.text("app"))
        appName = SafeText.name(details.text("app_name"))
        let icon = details.text("app_icon")
        appIcon = icon.utf8.count > AgentPrompt.iconBytes ? "" : icon
        isSandboxed = details["sandboxed"]?.boolValue ?? false
        startedFrom = SafeText.name(details.text("started_from"))
        let pair = details["explanation"]?.elements?.compactMap(\.stringValue) ?? []
        explanation =
            pair.count == 2 ? Explanation(title: SafeText.title(pair[0]), body: SafeText.body(pair[1])) : nil
        var asked: Set<PromptItem> = []
        items = (details["items"]?.rows ?? []).compactMap { row in
            // Questions that this version does not know, and repeated ones, are left out; they stay undecided.
            guard let item = row["permission"]?.stringValue.flatMap(PromptItem.init(name:)),
                asked.insert(item).inserted
            else { return nil }
            return Item(
                id: item, deviceName: SafeText.title(row.text("device_name")),
                usedBy: SafeText.name(row.text("used_by")), reason: SafeText.body(row.text("reason")),
                dialog: AgentPrompt.dialog(row))
        }
        let offered = (details["durations"]?.strings ?? []).compactMap(Duration.Kind.init(rawValue:))
        durations = offered.enumerated().filter { !offered[..<$0.offset].contains($0.element) }.map(\.element)
        parentWindow = details.text("parent_window")
        since = details["since"]?.uint64Value.map { EpochSeconds(clamping: $0) }
        pause = details["pause"]?.uint32Value
        behind = Behind(details)
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

    /// The name of the app, or its identity if it has no name.
    public var displayName: String { appName.isEmpty ? app : appName }

    /// Returns why the prompt was withdrawn; nil if it was not.
    public func withdrawnWhy() async -> WithdrawalReason? { await link.why }
}

extension AgentPrompt.Behind {
    private static let maximumApps = 16

    init(_ details: [String: Value]) {
        count = Int(details["waiting"]?.uint32Value ?? 0)
        apps = (details["next"]?.strings ?? []).prefix(AgentPrompt.Behind.maximumApps).map(SafeText.name)
    }
}

/// What the daemon says about a prompt after it was sent.
@LoopActor
final class PromptLink {
    /// Why it was withdrawn.
    var why: WithdrawalReason?
    nonisolated let changes: AsyncStream<AgentPrompt.Update>
    private let sink: AsyncStream<AgentPrompt.Update>.Continuation

    nonisolated init() { (changes, sink) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func update(_ details: [String: Value]) {
        let names = (details["items"]?.rows ?? []).compactMap { row -> (PromptItem, String)? in
            let name = SafeText.title(row.text("device_name"))
            return PromptItem(name: row.text("permission")).flatMap { name.isEmpty ? nil : ($0, name) }
        }
        sink.yield(
            AgentPrompt.Update(
                behind: AgentPrompt.Behind(details), deviceNames: Dictionary(names) { first, _ in first }))
    }

    func end() { sink.finish() }
}

/// The answer of an agent to a prompt.
public enum AgentAnswer: Sendable, Hashable {
    /// A decision for each question. A question that is left out stays undecided.
    case answered([PromptItem: ItemDecision])
    /// Not now: nothing is decided.
    case dismissed
    /// The agent could not show the prompt, with the reason. The daemon asks the next agent. Three failures in a row
    /// unregister an agent.
    case failed(String)
}

extension [String: Value] {
    fileprivate func text(_ key: String) -> String { self[key]?.stringValue ?? "" }
}
