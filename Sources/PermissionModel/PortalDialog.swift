// The dialog of a desktop portal: the arguments of org.freedesktop.impl.portal.Access.AccessDialog.

/// A dialog that a desktop portal asks permd to show (org.freedesktop.impl.portal.Access.AccessDialog).
///
/// All strings that are shown are safe to show. A string that the portal did not set is empty.
public struct PortalDialog: Sendable, Hashable {
    /// The title, usually the question.
    public var title: String
    /// The text below the title.
    public var subtitle: String
    /// The text below the subtitle.
    public var body: String
    /// The label of the button that grants.
    public var grantLabel: String
    /// The label of the button that denies.
    public var denyLabel: String
    /// A name in the icon theme.
    public var icon: String
    /// What the user can choose in the dialog besides the answer.
    public var choices: [PortalChoice]

    /// Creates a dialog.
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

    /// Returns the selection of each choice: the one in `chosen`, by the choice's ID, or the initial selection if there
    /// is none or it is not one of the options.
    public func selections(_ chosen: [String: String]) -> [(id: String, selection: String)] {
        choices.map { choice in
            let selection = chosen[choice.id].flatMap { choice.allows($0) ? $0 : nil }
            return (choice.id, selection ?? choice.initial)
        }
    }
}

/// A choice in a portal's dialog: one of several options or, without options, a checkbox.
public struct PortalChoice: Sendable, Hashable {
    /// An option of a choice.
    public struct Option: Sendable, Hashable {
        /// The ID, which is returned to the portal if the option is selected.
        public let id: String
        /// The text to show.
        public let label: String

        /// Creates an option.
        public init(id: String, label: String) {
            self.id = id
            self.label = label
        }
    }

    /// The ID of the choice.
    public let id: String
    /// The text to show.
    public let label: String
    /// The options; empty for a checkbox.
    public let options: [Option]
    /// The selection before the user chooses: an option's ID, or `true` or `false` for a checkbox.
    public let initial: String

    /// Creates a choice. If `initial` is not one of the options, the first option is selected.
    public init(id: String, label: String, options: [Option], initial: String) {
        self.id = id
        self.label = label
        self.options = options
        let isOption = options.contains { $0.id == initial }
        self.initial = isOption ? initial : options.first?.id ?? (initial == "true" ? "true" : "false")
    }

    /// Whether it is a checkbox.
    public var isCheckbox: Bool { options.isEmpty }

    /// Whether the selection is one of the options.
    func allows(_ selection: String) -> Bool {
        isCheckbox ? ["true", "false"].contains(selection) : options.contains { $0.id == selection }
    }
}
