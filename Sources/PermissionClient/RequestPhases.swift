// A request as a sequence of its phases.

/// The phases of a request: `queued` with its position, `showing`, and finally `settled` with the result.
///
/// Each iteration makes a new request, which waits for its turn among the app's other actions and has no phase until
/// then. A request that needs no prompt may settle at once. Leaving the loop or cancelling the Task withdraws the
/// request.
///
/// ```swift
/// for try await phase in PermissionCenter.session.phases(of: [.camera]) {
///     switch phase {
///     case .queued(let position): await show("\(position) before you")
///     case .showing: await show("Answer the question on your screen.")
///     case .settled(let result): await show(result.isGranted ? "Ready" : "No camera")
///     }
/// }
/// ```
///
/// The loop throws ``ClientError`` if the request fails.
public struct RequestPhases: AsyncSequence, Sendable {
    /// A phase.
    public typealias Element = RequestPhase
    /// ``ClientError`` or `CancellationError`.
    public typealias Failure = any Error

    let center: PermissionCenter
    let order: RequestOrder

    /// Makes the request.
    public func makeAsyncIterator() -> Iterator {
        // A slow reader does not need more phases: each new position makes the older ones obsolete.
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

    /// The phases of one request.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<RequestPhase, any Error>.Iterator

        /// Returns the next phase; nil after ``RequestPhase/settled(_:)``.
        public mutating func next() async throws -> RequestPhase? { try await base.next() }
    }
}
