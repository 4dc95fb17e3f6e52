// What a prompt asks about: a permission, or something that only a desktop portal asks about.

/// What a prompt, a row of the history, or a pause is about.
///
/// Decisions, rules and devices exist only for a ``Permission``. A question that only portals ask shares the queue, the
/// prompts, the dismissal throttle and the history; the portal stores its answer.
public enum PromptItem: Sendable, Hashable, Comparable {
    /// Whether the app may have a permission.
    case permission(Permission)
    /// A question that only a desktop portal asks.
    case portal(PortalItem)

    /// Everything that can be asked.
    package static let all = Permission.allCases.map(permission) + PortalItem.allCases.map(portal)

    /// The question with this name on the bus and in the store; nil for an unknown name.
    public init?(name: String) {
        if let permission = Permission(rawValue: name) {
            self = .permission(permission)
        } else if let item = PortalItem(rawValue: name) {
            self = .portal(item)
        } else {
            return nil
        }
    }

    /// The name on the bus and in the store.
    public var name: String {
        switch self {
        case .permission(let permission): permission.rawValue
        case .portal(let item): item.rawValue
        }
    }

    /// The permission; nil for a portal's question.
    public var permission: Permission? {
        if case .permission(let permission) = self { permission } else { nil }
    }

    /// Compares names.
    public static func < (a: PromptItem, b: PromptItem) -> Bool { a.name < b.name }
}

/// A question that only desktop portals ask (org.freedesktop.impl.portal.Access). Apps cannot request it, and permd
/// stores no decision about it.
public enum PortalItem: String, Sendable, Hashable, CaseIterable {
    case background, screenshot, speakers, wallpaper
    /// Any other dialog of a portal.
    case other
}
