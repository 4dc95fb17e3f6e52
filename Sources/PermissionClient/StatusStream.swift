// Follows the status of a permission, over restarts of the daemon and the bus.

import DBus
public import PermissionModel

/// The current status of a permission, then every change.
///
/// Ends only with its Task. The first status needs the daemon: without one, the first `next()` throws ``ClientError``;
/// afterwards a daemon that goes is waited for.
public struct StatusStream: AsyncSequence, Sendable {
    public typealias Element = Status
    public typealias Failure = any Error

    let bus: PermissionBus
    let permission: Permission

    public func makeAsyncIterator() -> Iterator {
        // Only the newest status is of interest to whoever was busy.
        let (stream, continuation) = AsyncThrowingStream<Status, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let follower = StatusFollower(bus, permission, continuation)
        continuation.onTermination = { _ in Loop.shared.post { follower.stop() } }
        Loop.shared.post { follower.start() }
        return Iterator(base: stream.makeAsyncIterator())
    }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<Status, any Error>.Iterator
        private var last: Status?

        fileprivate init(base: AsyncThrowingStream<Status, any Error>.Iterator) { self.base = base }

        public mutating func next() async throws -> Status? {
            while let status = try await base.next() {
                guard status != last else { continue }
                last = status
                return status
            }
            return nil
        }
    }
}

@LoopActor
private final class StatusFollower {
    private let bus: PermissionBus
    private lazy var link = BusLink.shared(bus)
    private let permission: Permission
    private let stream: AsyncThrowingStream<Status, any Error>.Continuation
    private var signal: Subscription?
    private var listener: Subscription?
    private var hasStatus = false
    /// Changes that were told. One that came while an answer was under way is newer than the answer.
    private var changes = 0
    private var isOver = false

    nonisolated init(
        _ bus: PermissionBus, _ permission: Permission, _ stream: AsyncThrowingStream<Status, any Error>.Continuation
    ) {
        self.bus = bus
        self.permission = permission
        self.stream = stream
    }

    func start() {
        guard !isOver else { return }
        listener = link.onDaemonChange { [weak self] isThere in if isThere { self?.read() } }
        read()
    }

    /// Also makes us one of those the daemon tells: it tells who has called it.
    private func read() {
        Task {
            do throws(ClientError) {
                signal?.cancel()
                signal = try link.onSignal(BusNames.access, "StatusChanged") { [weak self] in self?.changed($0) }
                let before = changes
                if let status = try await link.statuses([permission])[permission], !isOver {
                    hasStatus = true
                    if changes == before { stream.yield(status) }
                }
            } catch {
                if !hasStatus { stream.finish(throwing: error) }
            }
        }
    }

    private func changed(_ message: Message) {
        guard message.body.first?.stringValue == permission.rawValue,
            let status = message.body.last?.stringValue.flatMap(Status.init(rawValue:))
        else { return }
        changes += 1
        stream.yield(status)
    }

    func stop() {
        isOver = true
        signal?.cancel()
        listener?.cancel()
    }
}
