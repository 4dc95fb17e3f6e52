// The options, phases and result of a request.

public import PermissionModel

/// How a request is made.
public struct RequestOptions: Sendable, Hashable {
    /// The window to which the prompt belongs, `x11:XID` or `wayland:HANDLE`; empty for none.
    public var parentWindow = ""
    /// If false, the request is answered at once from what is known, and never prompts.
    public var isInteractive = true
    /// Seconds, at most 15, for which to keep the place in the queue after the answer for the app's next request.
    ///
    /// An app gets a hold at most once a minute. A ``Workflow`` sets this itself, and ends the hold when it ends.
    public var hold = 0
    /// The last element of the request's object path, `[A-Za-z0-9_]{1,64}`; nil to choose one. It must not be in use by
    /// a waiting request.
    public var token: String?

    /// Creates options: by default no window, may prompt, no hold.
    public init(parentWindow: String = "", isInteractive: Bool = true, hold: Int = 0, token: String? = nil) {
        self.parentWindow = parentWindow
        self.isInteractive = isInteractive
        self.hold = hold
        self.token = token
    }
}

/// The answer to a request: the signal org.permd.Request1.Response.
public struct RequestResult: Sendable, Hashable {
    /// The requested permissions, in the order of the request.
    public let permissions: [Permission]
    /// The status of each requested permission.
    public let statuses: [Permission: Status]
    /// The first requested permission that is not granted, whatever the reason; nil if all are granted.
    public let firstRefused: Permission?
    /// Whether nothing was decided: the user chose Not now, or did not answer in time, or there was no prompt because
    /// the user chose Not now too often or ``RequestOptions/isInteractive`` is false.
    public let isDismissed: Bool
    /// Seconds after which asking again may prompt again, if the user chose Not now too often; nil otherwise.
    public let retryAfter: Int?

    /// Seconds for which the place in the queue is kept for the next request; 0 if it is not kept.
    public let heldSeconds: Int

    /// Whether all requested permissions are granted.
    public var isGranted: Bool { firstRefused == nil }

    /// The status of a requested permission; `undetermined` for any other.
    public subscript(permission: Permission) -> Status { statuses[permission] ?? .undetermined }

    init(
        permissions: [Permission], statuses: [Permission: Status], retryAfter: Int? = nil, heldSeconds: Int = 0
    ) {
        self.permissions = permissions
        self.statuses = statuses
        self.retryAfter = retryAfter
        isDismissed =
            statuses.values.contains(.undetermined)
            && statuses.values.allSatisfy { [.undetermined, .unavailable].contains($0) }
        self.heldSeconds = heldSeconds
        firstRefused = permissions.first { statuses[$0] != .granted }
    }
}

/// A phase of a request.
public enum RequestPhase: Sendable, Hashable {
    /// The request waits. The position is the number of requests ahead of it, including the one on screen.
    case queued(position: Int)
    /// Its prompt is on screen.
    case showing
    /// It is answered. This is the last phase.
    case settled(RequestResult)
}
