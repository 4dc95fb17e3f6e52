// A request seen from the app: where it is on its way, and its end.

/// The phases of a request: `queued` with its position, `showing`, and at last `settled`.
///
/// Each iteration makes one request, in turn with the app's other actions; nothing comes before its turn. Leaving the
/// loop or cancelling the Task withdraws the request.
///
/// ```swift
/// for try await phase in PermissionCenter.session.phases(of: [.camera]) {
///     switch phase {
///     case .queued(let position): label.text = "\(position) before you"
///     case .showing: label.text = "See the question on your screen"
///     case .settled(let result): label.text = result.isGranted ? "Ready" : "No camera"
///     }
/// }
/// ```
public struct RequestPhases: AsyncSequence, Sendable {
    public typealias Element = RequestPhase
    public typealias Failure = any Error

    let center: PermissionCenter
    let order: RequestOrder

    public func makeAsyncIterator() -> Iterator {
        // More phases than a slow reader needs: each new position makes the older ones worthless.
        let (stream, continuation) = AsyncThrowingStream<RequestPhase, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(16))
        let task = center.submit(OrderedRequest(order: order) { continuation.yield($0) }) { result in
            switch result {
            case .success: continuation.finish()
            case .failure(let error): continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { if case .cancelled = $0 { task.cancel() } }
        return Iterator(base: stream.makeAsyncIterator())
    }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<RequestPhase, any Error>.Iterator

        public mutating func next() async throws -> RequestPhase? { try await base.next() }
    }
}
