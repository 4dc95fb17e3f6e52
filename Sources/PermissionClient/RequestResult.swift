// What an app asks for and gets.

public import PermissionModel

/// How a request is made. The defaults suit an app with a window of its own.
public struct RequestOptions: Sendable, Hashable {
    /// The window the prompt belongs to, `x11:XID` or `wayland:HANDLE`; empty for none.
    public var parentWindow = ""
    /// False answers from what is known and prompts nobody.
    public var isInteractive = true
    /// Seconds, at most 15, that the place in the queue is kept for the next request.
    public var hold = 0
    /// The last element of the request's object path, `[A-Za-z0-9_]{1,64}`; nil makes one.
    public var token: String?

    public init() {}
}

/// The answer to a request.
public struct RequestResult: Sendable, Hashable {
    /// In the asked order.
    public let permissions: [Permission]
    /// For every permission asked.
    public let statuses: [Permission: Status]
    /// The first in the asked order that is not granted; nil when all are.
    public let firstRefused: Permission?
    /// The person put the question off and nothing was decided.
    public let isDismissed: Bool

    /// Seconds for which the place in the queue is kept for the next request; 0 when it is not.
    public let heldSeconds: Int

    public var isGranted: Bool { firstRefused == nil }

    public subscript(permission: Permission) -> Status { statuses[permission] ?? .undetermined }

    init(permissions: [Permission], statuses: [Permission: Status], isDismissed: Bool, heldSeconds: Int) {
        self.permissions = permissions
        self.statuses = statuses
        self.isDismissed = isDismissed
        self.heldSeconds = heldSeconds
        firstRefused = permissions.first { statuses[$0] != .granted }
    }
}

/// Where a request is on its way.
public enum RequestPhase: Sendable, Hashable {
    /// So many requests are ahead, the one on screen included.
    case queued(position: Int)
    /// The person is looking at it.
    case showing
    /// Over; nothing follows.
    case settled(RequestResult)
}
