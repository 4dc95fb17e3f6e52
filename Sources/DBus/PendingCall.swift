// An outgoing method call.

@LoopActor
public final class PendingCall {
    private var completion: (@LoopActor (Result<Message, BusError>) -> Void)?
    /// The only peer whose reply is accepted.
    let origin: ReplyOrigin
    private var isOver = false
    var timer: LoopTimer?
    var onEnd: (@LoopActor () -> Void)?

    init(origin: ReplyOrigin, _ completion: @escaping @LoopActor (Result<Message, BusError>) -> Void) {
        self.origin = origin
        self.completion = completion
        if case .owner(let name) = origin { name.callBegins() }
    }

    /// Ends the call; the completion is never called.
    public func cancel() {
        completion = nil
        end()
    }

    func finish(_ result: Result<Message, BusError>) {
        let completion = completion
        self.completion = nil
        end()
        completion?(result)
    }

    /// Fails the call as if this error had been the reply; for calls whose task was cancelled.
    func abandon() {
        finish(.failure(BusError(name: BusError.Name.noReply, message: "the call was cancelled")))
    }

    private func end() {
        guard !isOver else { return }
        isOver = true
        if case .owner(let name) = origin { name.callEnds() }
        timer?.cancel()
        timer = nil
        onEnd?()
        onEnd = nil
    }
}

/// Connects an async call with its cancellation, in either order.
@LoopActor
final class CallSlot {
    var pending: PendingCall?
    private(set) var isCancelled = false

    nonisolated init() {}

    func cancel() {
        isCancelled = true
        pending?.abandon()
    }
}
