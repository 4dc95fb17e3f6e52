// What a prompt asks about: a permission, or something that only a desktop portal asks about.

/// One subject of a prompt, of a row of the history, or of a pause.
///
/// Decisions, rules and devices know permissions only (``Permission``). A portal's question shares the queue, the prompt, the
/// pause after dismissals and the history with them; the portal keeps its answer.
public enum Question: Sendable, Hashable, Comparable {
    case permission(Permission)
    case portal(PortalQuestion)

    /// The question of this name on the bus and in the store; nil for an unknown name.
    public init?(name: String) {
        if let permission = Permission(rawValue: name) {
            self = .permission(permission)
        } else if let question = PortalQuestion(rawValue: name) {
            self = .portal(question)
        } else {
            return nil
        }
    }

    /// Its name on the bus and in the store.
    public var name: String {
        switch self {
        case .permission(let permission): permission.rawValue
        case .portal(let question): question.rawValue
        }
    }

    /// The permission it asks for; nil for a portal's question.
    public var permission: Permission? {
        if case .permission(let permission) = self { permission } else { nil }
    }

    public static func < (a: Question, b: Question) -> Bool { a.name < b.name }
}

/// What only desktop portals ask about (org.freedesktop.impl.portal.Access). Apps cannot request it, and permd keeps no decision
/// about it.
public enum PortalQuestion: String, Sendable, Hashable, CaseIterable {
    case background, screenshot, speakers, wallpaper
    /// A dialog of a kind that has no name here yet.
    case other
}
