// What an action works with: requests that keep their place, checks, and actions within the action.

import DBus
public import PermissionModel

/// Handed to an action while it runs. A request made through it afterwards, as by a Task that was left behind, fails with
/// ``ClientError/Kind/actionOver``: another action may have the app's place by then.
public final class ActionContext: Sendable {
    /// The action this code is part of. What it adds is part of it too, instead of waiting for its end.
    @TaskLocal static var current: ActionContext?

    public let center: PermissionCenter
    let line = SerialQueue()
    /// The action this one is a part of; nil for one that was added to the center.
    let parent: ActionContext?
    private let hold: ActionHold

    /// `seconds`: how long each request keeps its place; 0 for an action that makes only one.
    init(center: PermissionCenter, holdSeconds: Int) {
        self.center = center
        parent = nil
        hold = ActionHold(seconds: holdSeconds)
    }

    private init(within parent: ActionContext) {
        center = parent.center
        self.parent = parent
        hold = parent.hold
    }

    /// Asks for one permission; see ``PermissionCenter/request(_:reasons:explanation:options:)``.
    public func request(
        _ permission: Permission, reason: String = "", explanation: Explanation? = nil
    ) async throws -> Status {
        let reasons = reason.isEmpty ? [:] : [permission: reason]
        return try await request([permission], reasons: reasons, explanation: explanation)[permission]
    }

    /// Asks for several at once; the next request of this action keeps the place in the daemon's queue.
    public func request(
        _ permissions: [Permission], reasons: [Permission: String] = [:], explanation: Explanation? = nil,
        options: RequestOptions = RequestOptions()
    ) async throws -> RequestResult {
        try await perform(
            RequestOrder(permissions: permissions, reasons: reasons, explanation: explanation, options: options))
    }

    /// Makes a request that keeps its place for the next one of this action.
    func perform(
        _ order: RequestOrder, onPhase: @escaping @LoopActor (RequestPhase) -> Void = { _ in }
    ) async throws -> RequestResult {
        var order = order
        order.options.hold = max(order.options.hold, hold.seconds)
        do { try await line.beginRequest() } catch { throw ClientError.actionOver }
        defer { Loop.shared.post { [line] in line.endRequest() } }
        let result = try await RequestRun.perform(order, on: BusLink.shared(center.bus), onPhase: onPhase)
        if result.heldSeconds > 0, hold.seconds > 0 { await hold.note() }
        return result
    }

    /// The first of `permissions` that is not granted, without asking anybody; nil when all are.
    public func check(_ permissions: [Permission]) async throws -> Permission? {
        try await center.firstMissing(permissions)
    }

    /// Executes another action here and now, as a part of this one.
    public func execute<Action: PermissionAction>(_ action: Action) async throws -> Action.Output {
        do { return try await run(action, in: line.enter()) } catch is QueueClosed { throw ClientError.actionOver }
    }

    /// Executes `action` when `turn`, in this context's line, has come; `QueueClosed` when the action is over by then.
    func run<Action: PermissionAction>(_ action: Action, in turn: Turn) async throws -> Action.Output {
        try await ActionContext.run(action, in: turn, of: line, context: ActionContext(within: self))
    }

    /// Waits for the turn, executes, and leaves the line when everything the action added is done.
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

/// The place kept in the daemon's queue, of an action and all within it.
private final class ActionHold: Sendable {
    let seconds: Int
    @LoopActor private var isKept = false

    init(seconds: Int) { self.seconds = seconds }

    @LoopActor func note() { isKept = true }

    /// Gives the place in the daemon's queue back, at the outermost action's end.
    @LoopActor func release(on bus: PermissionBus) async {
        guard isKept else { return }
        isKept = false
        // An error means the daemon or the bus is gone, and the hold with it.
        _ = try? await BusLink.shared(bus).call(BusNames.access, "ReleaseHold")
    }
}
