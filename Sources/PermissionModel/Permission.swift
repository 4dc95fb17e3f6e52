// The permissions apps ask for, and what each can come to.

/// Something a person can allow an app to use.
public enum Permission: String, Sendable, Hashable, CaseIterable, Comparable {
    case camera, microphone, bluetooth, location

    /// Statuses are looked up by permission in every call: the raw value would be hashed as a string.
    public func hash(into hasher: inout Hasher) { hasher.combine(number) }

    private var number: Int {
        switch self {
        case .camera: 0
        case .microphone: 1
        case .bluetooth: 2
        case .location: 3
        }
    }

    public static func < (a: Permission, b: Permission) -> Bool { a.rawValue < b.rawValue }
}

/// What (app, permission) comes to right now.
public enum Status: String, Sendable, Hashable, CaseIterable {
    /// An administrator's rule forbids it; nobody is ever asked.
    case restricted
    /// A person refused; nobody is asked again until a reset.
    case denied
    /// No usable device is there; asking again helps when there is one.
    case unavailable
    /// A person or an administrator allowed it, and it still holds.
    case granted
    /// Nobody decided yet: a request prompts.
    case undetermined
}

/// The levels of agents, the only table of them: a higher one shows the prompt.
public enum AgentLevel: String, Sendable, Hashable, CaseIterable, Comparable {
    case fallback, terminal, desktop, system

    public static let standard = AgentLevel.desktop

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
