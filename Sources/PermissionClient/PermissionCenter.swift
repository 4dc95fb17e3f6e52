// What an app calls.

import DBus
public import PermissionModel

/// Where an app asks for permissions.
///
/// ```swift
/// let result = try await PermissionCenter.session.request([.camera, .microphone])
/// guard result.isGranted else { return show("Not allowed: \(result.firstRefused!)") }
/// ```
///
/// Everything that prompts goes through one line in the app and one queue in the daemon, in the order added. When the
/// daemon restarts, streams go on and a request that was waiting is asked again under its token.
public final class PermissionCenter: Sendable {
    /// The one on the session bus.
    public static let session = PermissionCenter()

    let bus: PermissionBus
    private let line = SerialQueue()

    /// Nothing is opened before the first call. Centers of the same bus share a connection, but not their lines.
    public init(bus: PermissionBus = .session) { self.bus = bus }

    // MARK: Asking

    /// Asks for one or several permissions, as one slot in the queue.
    ///
    /// - Parameters:
    ///   - permissions: at least one, none twice.
    ///   - reasons: why the app wants each; at most 512 Unicode scalars are shown.
    ///   - explanation: shown before the question, with Continue and Not Now.
    /// - Returns: a status for each, and the first that is not granted. A refusal is no error.
    /// - Throws: ``ClientError``, whose `isRetryable` says whether trying again helps; `CancellationError` when the
    ///   Task is cancelled, which withdraws the request.
    public func request(
        _ permissions: [Permission], reasons: [Permission: String] = [:], explanation: Explanation? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> RequestResult {
        try await add(
            OrderedRequest(
                order: RequestOrder(
                    permissions: permissions, reasons: reasons, explanation: explanation, options: options)))
    }

    /// Asks for one permission and gives its status.
    public func request(
        _ permission: Permission, reason: String = "", explanation: Explanation? = nil
    ) async throws -> Status {
        try await add(SingleRequest(permission, reason: reason, explanation: explanation))
    }

    /// The same request as a sequence of its phases, for an app's own "waiting" display.
    public func phases(
        of permissions: [Permission], reasons: [Permission: String] = [:], explanation: Explanation? = nil,
        options: RequestOptions = RequestOptions()
    ) -> RequestPhases {
        RequestPhases(
            center: self,
            order: RequestOrder(
                permissions: permissions, reasons: reasons, explanation: explanation, options: options))
    }

    // MARK: Actions

    /// Executes an action when all that were added before it are over. Within an action, it is a part of that one.
    /// - Throws: what the action throws; `CancellationError` when the Task is cancelled while it waits.
    public func add<Action: PermissionAction>(_ action: Action) async throws -> Action.Output {
        guard let current = ActionContext.current, current.center === self else {
            return try await run(action, in: line.enter())
        }
        return try await run(action, within: current, in: current.line.enter())
    }

    /// Within the action that the Task belongs to. When that one is over, as for a Task that was left behind, within the
    /// action around it; and when there is none any more, as an action of its own, in turn.
    private func run<Action: PermissionAction>(
        _ action: Action, within context: ActionContext, in turn: Turn
    ) async throws -> Action.Output {
        do {
            return try await context.run(action, in: turn)
        } catch is QueueClosed {
            guard let parent = context.parent else { return try await run(action, in: line.enter()) }
            return try await run(action, within: parent, in: parent.line.enter())
        }
    }

    /// ``add(_:)`` for code that does not wait: the action has its place when this returns.
    @discardableResult
    public func submit<Action: PermissionAction>(_ action: Action) -> Task<Action.Output, any Error> {
        if let current = ActionContext.current, current.center === self {
            let turn = current.line.enter()
            return Task { try await run(action, within: current, in: turn) }
        }
        let turn = line.enter()
        return Task { try await run(action, in: turn) }
    }

    /// ``submit(_:)`` for callback code: `completion` is called once, on an arbitrary thread.
    ///
    /// ```swift
    /// center.submit(SingleRequest(.microphone)) { result in
    ///     DispatchQueue.main.async { button.isEnabled = (try? result.get()) == .granted }
    /// }
    /// ```
    /// - Returns: a Task whose cancelling withdraws the action.
    @discardableResult
    public func submit<Action: PermissionAction>(
        _ action: Action, completion: @escaping @Sendable (Result<Action.Output, any Error>) -> Void
    ) -> Task<Void, Never> {
        let task = submit(action)
        return Task {
            await withTaskCancellationHandler {
                completion(await task.result)
            } onCancel: {
                task.cancel()
            }
        }
    }

    private func run<Action: PermissionAction>(_ action: Action, in turn: Turn) async throws -> Action.Output {
        // A single request has no successor to keep a place for.
        let isSingle = action is any PermissionRequest || action is OrderedRequest
        let context = ActionContext(center: self, holdSeconds: isSingle ? 0 : Int(Limits.maximumHold))
        return try await ActionContext.run(action, in: turn, of: line, context: context)
    }

    // MARK: Looking

    /// What a permission comes to right now; asks nobody.
    public func status(of permission: Permission) async throws(ClientError) -> Status {
        try await statuses([permission])[permission] ?? .undetermined
    }

    /// What several come to; all four by default.
    public func statuses(
        _ permissions: [Permission] = Permission.allCases
    ) async throws(ClientError) -> [Permission: Status] {
        try await BusLink.shared(bus).statuses(permissions)
    }

    /// The first of `permissions` that is not granted, without asking anybody; nil when all are.
    public func firstMissing(_ permissions: [Permission]) async throws(ClientError) -> Permission? {
        let statuses = try await statuses(permissions)
        return permissions.first { statuses[$0] != .granted }
    }

    /// The current status, then every change.
    public func statuses(of permission: Permission) -> StatusStream {
        StatusStream(bus: bus, permission: permission)
    }
}

/// A whole request as one action, so that it waits for its turn like any other.
struct OrderedRequest: PermissionAction {
    let order: RequestOrder
    var onPhase: @Sendable @LoopActor (RequestPhase) -> Void = { _ in }

    func execute(in context: ActionContext) async throws -> RequestResult {
        try await context.perform(order, onPhase: onPhase)
    }
}

extension BusLink {
    func statuses(_ permissions: [Permission]) async throws(ClientError) -> [Permission: Status] {
        let body = try await call(BusNames.access, "GetStatus", [.strings(permissions.map(\.rawValue))])
        guard let statuses = body.first?.statuses else { throw .unexpected("no table of statuses") }
        return statuses
    }
}

extension Value {
    /// An `a{ss}` of permissions and what they come to; words of a newer daemon are left out.
    var statuses: [Permission: Status]? {
        guard let table = stringTable else { return nil }
        var statuses: [Permission: Status] = [:]
        for (name, word) in table {
            if let permission = Permission(rawValue: name) { statuses[permission] = Status(rawValue: word) }
        }
        return statuses
    }
}
