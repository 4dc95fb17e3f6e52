// What a desktop portal wants shown (org.freedesktop.impl.portal.Access), made safe to show.

/// One dialog of a portal. Empty texts are absent ones.
public struct PortalDialog: Sendable, Hashable {
    public var title: String
    public var subtitle: String
    public var body: String
    public var grantLabel: String
    public var denyLabel: String
    /// A name in the icon theme.
    public var icon: String
    public var choices: [PortalChoice]

    public init(
        title: String, subtitle: String = "", body: String = "", grantLabel: String = "", denyLabel: String = "",
        icon: String = "", choices: [PortalChoice] = []
    ) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.grantLabel = grantLabel
        self.denyLabel = denyLabel
        self.icon = icon
        self.choices = choices
    }

    /// Every choice with what was chosen, or with its initial selection where the answer is none of its options.
    public func selections(_ chosen: [String: String]) -> [(id: String, selection: String)] {
        choices.map { choice in
            let selection = chosen[choice.id].flatMap { choice.allows($0) ? $0 : nil }
            return (choice.id, selection ?? choice.initial)
        }
    }
}

/// One of a dialog's choices: a combination of options, or, without any, a checkbox whose selection is `true` or `false`.
public struct PortalChoice: Sendable, Hashable {
    public struct Option: Sendable, Hashable {
        public let id: String
        public let label: String

        public init(id: String, label: String) {
            self.id = id
            self.label = label
        }
    }

    public let id: String
    public let label: String
    public let options: [Option]
    /// What is selected before the person chooses.
    public let initial: String

    public init(id: String, label: String, options: [Option], initial: String) {
        self.id = id
        self.label = label
        self.options = options
        let isOption = options.contains { $0.id == initial }
        self.initial = isOption ? initial : options.first?.id ?? (initial == "true" ? "true" : "false")
    }

    public var isCheckbox: Bool { options.isEmpty }

    public func allows(_ selection: String) -> Bool {
        isCheckbox ? ["true", "false"].contains(selection) : options.contains { $0.id == selection }
    }
}
