// Actions, which run one after the other: single requests, and workflows of several.

public import PermissionModel

/// Work that must not run at the same time as other work of the app that may prompt.
///
/// The actions of a ``PermissionCenter`` run one after the other, in the order in which they were added by any thread.
public protocol PermissionAction<Output>: Sendable {
    /// The result of the action.
    associatedtype Output: Sendable

    /// Does the work. Requests are made through `context`, which keeps their place in the daemon's queue.
    ///
    /// The action ends when this method has returned and everything that it added has ended.
    func execute(in context: ActionContext) async throws -> Output
}

/// An action that requests one permission. Its output is the status.
public protocol PermissionRequest: PermissionAction where Output == Status {
    /// The permission.
    var permission: Permission { get }
    /// Why the app wants it, for the user. At most 512 Unicode scalars are shown. Empty by default.
    var reason: String { get }
    /// Shown before the question, with Continue and Not now; nil by default.
    var explanation: Explanation? { get }
}

extension PermissionRequest {
    /// No reason.
    public var reason: String { "" }
    /// No explanation.
    public var explanation: Explanation? { nil }

    /// Makes the request.
    public func execute(in context: ActionContext) async throws -> Status {
        try await context.request(permission, reason: reason, explanation: explanation)
    }

    /// Adds the request to a center, and returns the status when it is answered.
    ///
    /// ```swift
    /// let status = try await SingleRequest(.camera, reason: "For your video call").request()
    /// ```
    /// - Returns: The status. A refusal is a status, not an error. Not now decides nothing: `undetermined`.
    /// - Throws: ``ClientError``; `CancellationError` if the Task is cancelled, which withdraws the request.
    public func request(on center: PermissionCenter = .session) async throws -> Status { try await center.add(self) }
}

/// A request for one permission, for callers that need no ``PermissionRequest`` type of their own.
public struct SingleRequest: PermissionRequest {
    /// The permission.
    public let permission: Permission
    /// Why the app wants it, for the user; may be empty.
    public let reason: String
    /// Shown before the question; nil for none.
    public let explanation: Explanation?

    /// Creates a request.
    public init(_ permission: Permission, reason: String = "", explanation: Explanation? = nil) {
        self.permission = permission
        self.reason = reason
        self.explanation = explanation
    }
}

/// Several requests and the code between them, as one action. No prompt of another app appears between them.
///
/// ```swift
/// let call = Workflow { context in
///     guard try await context.request(.camera) == .granted else { return false }
///     return try await context.request(.microphone) == .granted
/// }
/// let isReady = try await PermissionCenter.session.add(call)
/// ```
public struct Workflow<Output: Sendable>: PermissionAction {
    private let body: @Sendable (ActionContext) async throws -> Output

    /// Creates an action from a closure.
    public init(_ body: @escaping @Sendable (ActionContext) async throws -> Output) { self.body = body }

    /// Calls the closure.
    public func execute(in context: ActionContext) async throws -> Output { try await body(context) }
}
