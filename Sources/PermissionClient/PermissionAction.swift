// What can be executed in turn: actions, requests, and workflows made of both.

public import PermissionModel

/// Anything to be executed in turn. Actions added to a ``PermissionCenter`` run one after the other, in the order
/// added, from wherever in the app they are added.
public protocol PermissionAction<Output>: Sendable {
    associatedtype Output: Sendable

    /// Does the work. Requests made through `context` keep their place in the daemon's queue for the next one.
    func execute(in context: ActionContext) async throws -> Output
}

/// An action that asks for one permission and gives its status.
public protocol PermissionRequest: PermissionAction where Output == Status {
    var permission: Permission { get }
    /// Why the app wants it, for the person; at most 512 Unicode scalars are shown. Empty by default.
    var reason: String { get }
    /// What is said before the question. None by default.
    var explanation: Explanation? { get }
}

extension PermissionRequest {
    public var reason: String { "" }
    public var explanation: Explanation? { nil }

    public func execute(in context: ActionContext) async throws -> Status {
        try await context.request(permission, reason: reason, explanation: explanation)
    }

    /// Asks in turn.
    ///
    /// ```swift
    /// let status = try await SingleRequest(.camera, reason: "For your video call").request()
    /// ```
    /// - Returns: the status; a refusal is a status, not an error.
    /// - Throws: ``ClientError``, whose `isRetryable` says whether trying again helps; `CancellationError`.
    public func request(on center: PermissionCenter = .session) async throws -> Status { try await center.add(self) }
}

/// The request that needs no type of its own.
public struct SingleRequest: PermissionRequest {
    public let permission: Permission
    public let reason: String
    public let explanation: Explanation?

    public init(_ permission: Permission, reason: String = "", explanation: Explanation? = nil) {
        self.permission = permission
        self.reason = reason
        self.explanation = explanation
    }
}

/// Several requests and the code between them, as one action: no other app's prompt comes between.
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

    public init(_ body: @escaping @Sendable (ActionContext) async throws -> Output) { self.body = body }

    public func execute(in context: ActionContext) async throws -> Output { try await body(context) }
}
