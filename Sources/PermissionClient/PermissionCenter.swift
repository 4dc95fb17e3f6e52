// The API for apps: requests, actions and statuses.

import DBus
public import PermissionModel

/// Requests permissions for an app, and reports their status.
///
/// ```swift
/// let result = try await PermissionCenter.session.request([.camera, .microphone])
/// if let missing = result.firstRefused { await show("The call needs the \(missing).") }
/// ```
///
/// Requests and other actions of a center run one after the other, in the order in which they were added. The daemon
/// has one queue for all apps. If the daemon restarts, a request that it had accepted is repeated, and streams
/// continue.
///
/// See <doc:AskingFromAnApp>.
public final class PermissionCenter: Sendable {
    /// The center for the session bus.
    public static let session = PermissionCenter()

    let bus: PermissionBus
    private let line = SerialQueue()

    /// Creates a center. It connects to the bus with the first call.
    ///
    /// Centers of the same bus share a connection. Their actions do not wait for each other.
    public init(bus: PermissionBus = .session) { self.bus = bus }

    // MARK: Asking

    /// Requests one or more permissions, which take one place in the queue and get one answer.
    ///
    /// Calls org.permd.Access1.RequestAccess, and waits for the signal Response of org.permd.Request1.
    ///
    /// - Parameters:
    ///   - permissions: At least one, none twice.
    ///   - reasons: Why the app wants each, for the user. At most 512 Unicode scalars of each are shown.
    ///   - explanation: Shown before the first question, with Continue and Not now.
    ///   - options: How the request is made.
    /// - Returns: A status for each, and the first that is not granted. A refusal is a status, not an error.
    /// - Throws: ``ClientError``; `CancellationError` if the Task is cancelled, which withdraws the request.
    public func request(
        _ permissions: [Permission], reasons: [Permission: String] = [:], explanation: Explanation? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> RequestResult {
        try await add(
            OrderedRequest(
                order: RequestOrder(
                    permissions: permissions, reasons: reasons, explanation: explanation, options: options)))
    }

    /// Requests one permission and returns its status.
    ///
    /// - Parameters:
    ///   - permission: The permission.
    ///   - reason: Why the app wants it, for the user. At most 512 Unicode scalars are shown.
    ///   - explanation: Shown before the question, with Continue and Not now.
    /// - Returns: The status. A refusal is a status, not an error. Not now decides nothing: `undetermined`.
    /// - Throws: ``ClientError``; `CancellationError` if the Task is cancelled, which withdraws the request.
    public func request(
        _ permission: Permission, reason: String = "", explanation: Explanation? = nil
    ) async throws -> Status {
        try await add(SingleRequest(permission, reason: reason, explanation: explanation))
    }

    /// Returns the request as a sequence of its phases, for apps that show that they wait.
    ///
    /// The request is made when the sequence is iterated.
    ///
    /// - Parameters:
    ///   - permissions: At least one, none twice.
    ///   - reasons: Why the app wants each, for the user.
    ///   - explanation: Shown before the first question, with Continue and Not now.
    ///   - options: How the request is made.
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

    /// Executes an action after all actions that were added before it. If it is called within an action, the new action
    /// is part of that one.
    ///
    /// - Returns: The action's output.
    /// - Throws: What the action throws; `CancellationError` if the Task is cancelled while it waits for its turn.
    public func add<Action: PermissionAction>(_ action: Action) async throws -> Action.Output {
        guard let current = ActionContext.current, current.center === self else {
            return try await run(action, in: line.enter())
        }
        return try await run(action, within: current, in: current.line.enter())
    }

    /// Executes `action` as part of the action that the Task belongs to. If that has ended, which happens to Tasks that
    /// it did not wait for, executes it as part of the enclosing action, or as an action of its own if there is none.
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

    /// Adds an action like ``add(_:)``, without waiting for it. The action has its place when this method returns.
    ///
    /// - Returns: A Task with the action's output. Cancelling it cancels the action, also while it waits for its turn.
    @discardableResult
    public func submit<Action: PermissionAction>(_ action: Action) -> Task<Action.Output, any Error> {
        if let current = ActionContext.current, current.center === self {
            let turn = current.line.enter()
            return Task { try await run(action, within: current, in: turn) }
        }
        let turn = line.enter()
        return Task { try await run(action, in: turn) }
    }

    /// Adds an action like ``submit(_:)``, and calls `completion` once with the result, on an arbitrary thread.
    ///
    /// ```swift
    /// center.submit(SingleRequest(.microphone)) { result in
    ///     let isGranted = (try? result.get()) == .granted
    ///     DispatchQueue.main.async { setMuted(!isGranted) }
    /// }
    /// ```
    /// - Returns: A Task. Cancelling it cancels the action.
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
        let context = ActionContext(center: self, holdSeconds: isSingle ? 0 : Int(Limits.maximumReservation))
        return try await ActionContext.run(action, in: turn, of: line, context: context)
    }

    // MARK: Statuses

    /// Returns the current status of a permission. Never prompts.
    ///
    /// - Throws: ``ClientError``.
    public func status(of permission: Permission) async throws(ClientError) -> Status {
        try await statuses([permission])[permission] ?? .undetermined
    }

    /// Returns the current statuses of permissions, by default of all (org.permd.Access1.GetStatus). Never prompts.
    ///
    /// - Throws: ``ClientError``.
    public func statuses(
        _ permissions: [Permission] = Permission.allCases
    ) async throws(ClientError) -> [Permission: Status] {
        try await BusLink.shared(bus).statuses(permissions)
    }

    /// Returns the first of `permissions` that is not granted, or nil if all are. Never prompts.
    ///
    /// - Throws: ``ClientError``.
    public func firstMissing(_ permissions: [Permission]) async throws(ClientError) -> Permission? {
        let statuses = try await statuses(permissions)
        return permissions.first { statuses[$0] != .granted }
    }

    /// Returns the current status of a permission and then its changes, as a sequence.
    public func statuses(of permission: Permission) -> StatusStream {
        StatusStream(bus: bus, permission: permission)
    }
}

extension PermissionCenter {
    /// Shows the user the app's own page of the window *Permissions*, for example after `denied`.
    ///
    /// Calls org.permd.Access1.OpenSettings. Call it only when the user has asked for it.
    ///
    /// - Parameter activationToken: Lets the window come to the front (xdg-activation); may be empty.
    /// - Throws: ``ClientError``: `notSupported` if no settings program is installed, `limitExceeded` within ten seconds
    ///   after the last time, `noAgent` while nobody is in front of the screen.
    public func openSettings(activationToken: String = "") async throws(ClientError) {
        let options: [String: Value] = activationToken.isEmpty ? [:] : ["activation_token": .string(activationToken)]
        _ = try await BusLink.shared(bus).call(BusNames.access, "OpenSettings", [.properties(options)])
    }
}

/// A request with all its parameters, as an action.
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
    /// The statuses in an `a{ss}`, by permission. Names that this version does not know are left out.
    var statuses: [Permission: Status]? {
        guard let table = stringTable else { return nil }
        var statuses: [Permission: Status] = [:]
        for (name, word) in table {
            if let permission = Permission(rawValue: name) { statuses[permission] = Status(rawValue: word) }
        }
        return statuses
    }
}
