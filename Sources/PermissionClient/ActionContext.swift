// The context of a running action: its requests keep their place in the queue, and it can execute other actions.

import DBus
public import PermissionModel

/// Makes requests and executes other actions as part of a running ``PermissionAction``.
///
/// The place in the daemon's queue is kept between the requests of an action, so that no prompt of another app appears
/// between them. All requests of an action share one hold: at most 15 seconds may pass between them in total, and an
/// app gets a hold at most once a minute. Without a hold the requests work as well, but other prompts may come in
/// between.
///
/// The context can be used until the action has ended. A later use, for example by a Task that the action has started
/// and not waited for, throws ``ClientError/Kind/actionOver``: another action of the app may be running by then.
public final class ActionContext: Sendable {
    /// The context of the action that this code belongs to. Actions that it adds are part of that action; they do not
    /// wait for its end.
    @TaskLocal static var current: ActionContext?

    /// The center to which the action was added.
    public let center: PermissionCenter
    let line = SerialQueue()
    /// The context of the enclosing action; nil for an action that was added to the center.
    let parent: ActionContext?
    private let hold: ActionReservation

    /// `holdSeconds`: for how long each request keeps its place; 0 for an action with a single request.
    init(center: PermissionCenter, holdSeconds: Int) {
        self.center = center
        parent = nil
        hold = ActionReservation(seconds: holdSeconds)
    }

    private init(within parent: ActionContext) {
        center = parent.center
        self.parent = parent
        hold = parent.hold
    }

    /// Requests one permission and returns its status.
    ///
    /// - Parameters:
    ///   - permission: The permission.
    ///   - reason: Why the app wants it, for the user. At most 512 Unicode scalars are shown.
    ///   - explanation: Shown before the question, with Continue and Not now.
    /// - Throws: ``ClientError``; `CancellationError` if the Task is cancelled, which withdraws the request.
    public func request(
        _ permission: Permission, reason: String = "", explanation: Explanation? = nil
    ) async throws -> Status {
        let reasons = reason.isEmpty ? [:] : [permission: reason]
        return try await request([permission], reasons: reasons, explanation: explanation)[permission]
    }

    /// Requests several permissions at once, like ``PermissionCenter/request(_:reasons:explanation:options:)``, and
    /// keeps the place in the daemon's queue for the next request of this action.
    public func request(
        _ permissions: [Permission], reasons: [Permission: String] = [:], explanation: Explanation? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> RequestResult {
        try await perform(
            RequestOrder(permissions: permissions, reasons: reasons, explanation: explanation, options: options))
    }

    /// Makes a request, and keeps its place for the next request of this action.
    func perform(
        _ order: RequestOrder, onPhase: @escaping @LoopActor (RequestPhase) -> Void = { _ in }
    ) async throws -> RequestResult {
        var order = order
        order.options.hold = max(order.options.hold, hold.seconds)
        do { try await line.beginRequest() } catch { throw ClientError.actionOver }
        defer { Loop.shared.post { [line] in line.endRequest() } }
        let result = try await RequestRun.perform(order, on: BusLink.shared(center.bus), onPhase: onPhase)
        if result.heldSeconds > 0, hold.seconds > 0 { await hold.begin() }
        return result
    }

    /// Returns the first of `permissions` that is not granted, or nil if all are. Never prompts.
    ///
    /// - Throws: ``ClientError``.
    public func check(_ permissions: [Permission]) async throws -> Permission? {
        try await center.firstMissing(permissions)
    }

    /// Executes another action as part of this one, after those that were added to this one before.
    ///
    /// - Throws: What the action throws; ``ClientError/Kind/actionOver`` if this action has ended.
    public func execute<Action: PermissionAction>(_ action: Action) async throws -> Action.Output {
        do { return try await run(action, in: line.enter()) } catch is QueueClosed { throw ClientError.actionOver }
    }

    /// Executes `action` at its turn in this context's line. Throws ``QueueClosed`` if this action has ended before.
    func run<Action: PermissionAction>(_ action: Action, in turn: Turn) async throws -> Action.Output {
        try await ActionContext.run(action, in: turn, of: line, context: ActionContext(within: self))
    }

    /// Waits for the turn, executes the action, and leaves the line when everything that the action added has ended.
    static func run<Action: PermissionAction>(
        _ action: Action, in turn: Turn, of line: SerialQueue, context: ActionContext
    ) async throws -> Action.Output {
        try await turn.wait(in: line)
        let result: Result<Action.Output, any Error>
        do {
            result = .success(
                try await ActionContext.$current.withValue(context) { try await action.execute(in: context) })
        } catch {
            result = .failure(error)
        }
        await context.line.close()
        if context.parent == nil { await context.hold.release(on: context.center.bus) }
        await line.leave(turn)
        return try result.get()
    }
}

/// The place in the daemon's queue that is kept for an action and the actions within it.
private final class ActionReservation: Sendable {
    let seconds: Int
    @LoopActor private var isKept = false

    init(seconds: Int) { self.seconds = seconds }

    @LoopActor func begin() { isKept = true }

    /// Gives up the place, at the end of the outermost action.
    @LoopActor func release(on bus: PermissionBus) async {
        guard isKept else { return }
        isKept = false
        // An error means that the connection to the daemon was lost, which ended the hold as well.
        _ = try? await BusLink.shared(bus).call(BusNames.access, "ReleaseHold")
    }
}
