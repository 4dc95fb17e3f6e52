// Permissions, their statuses, and the levels of agents.

/// A permission that an app can request. The raw value is its name on the bus and in the store.
public enum Permission: String, Sendable, Hashable, CaseIterable, Comparable {
    case camera, microphone, bluetooth, location

    /// Compares names.
    public static func < (a: Permission, b: Permission) -> Bool { a.rawValue < b.rawValue }
}

/// What an app was allowed or refused, or used.
package struct AppPermission: Sendable, Hashable {
    package let app: AppID
    package let permission: Permission

    package init(app: AppID, permission: Permission) { (self.app, self.permission) = (app, permission) }
}

/// The current status of a permission for an app. If several apply, the first in the order of these cases does.
///
/// The raw value is its name on the bus: org.permd.Access1.GetStatus, `statuses` of org.permd.Request1.Response.
public enum Status: String, Sendable, Hashable, CaseIterable {
    /// An administrator's rule forbids it. No prompt is shown.
    case restricted
    /// The user refused. No prompt is shown until the decision is reset or ends.
    case denied
    /// There is no usable device. A request may succeed when there is one.
    case unavailable
    /// The user or an administrator allowed it, and the decision is still in force.
    case granted
    /// There is no decision. A request shows a prompt.
    case undetermined
}

/// The level of an agent. The agent with the highest level shows a prompt; within a level, the newest.
///
/// The raw value is the option `level` of org.permd.AgentManager1.RegisterAgent.
public enum AgentLevel: String, Sendable, Hashable, CaseIterable, Comparable {
    case fallback, terminal, desktop, system

    /// The level of an agent that does not give one.
    public static let standard = AgentLevel.desktop

    /// Compares levels. In ascending order they are `fallback`, `terminal`, `desktop` and `system`.
    public static func < (a: AgentLevel, b: AgentLevel) -> Bool { a.rank < b.rank }

    private var rank: Int {
        switch self {
        case .fallback: 0
        case .terminal: 1
        case .desktop: 2
        case .system: 3
        }
    }
}
