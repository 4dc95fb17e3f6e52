// The status of a permission and its changes, as a sequence that continues when the daemon or the bus restarts.

import DBus
public import PermissionModel

/// The current status of a permission, and then its changes.
///
/// ```swift
/// for try await status in PermissionCenter.session.statuses(of: .camera) { await show("Camera: \(status)") }
/// ```
///
/// A slow reader gets the newest status only. The sequence ends when its Task is cancelled. If the daemon cannot be
/// reached at first, the sequence throws ``ClientError``; later, it waits for the daemon to return.
public struct StatusStream: AsyncSequence, Sendable {
    /// A status.
    public typealias Element = Status
    /// ``ClientError``.
    public typealias Failure = any Error

    let bus: PermissionBus
    let permission: Permission

    /// Starts to follow the status.
    public func makeAsyncIterator() -> Iterator {
        // A slow reader needs only the newest status.
        let (stream, continuation) = AsyncThrowingStream<Status, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let follower = StatusFollower(bus, permission, continuation)
        continuation.onTermination = { _ in Loop.shared.post { follower.stop() } }
        Loop.shared.post { follower.start() }
        return Iterator(base: stream.makeAsyncIterator())
    }

    /// The statuses of one loop.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: AsyncThrowingStream<Status, any Error>.Iterator
        private var last: Status?

        fileprivate init(base: AsyncThrowingStream<Status, any Error>.Iterator) { self.base = base }

        /// Waits for a status that differs from the last one; nil if the Task is cancelled.
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
    /// How often the status was read. An attempt is over at the next one.
    private var readings = 0
    private var isOver = false
    /// The number of changes received. A change that arrives before the reply to GetStatus is newer than the reply.
    private var changes = 0

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

    /// Reads the status. The daemon sends StatusChanged only to connections that have called this interface.
    private func read() {
        readings += 1
        let number = readings
        Task {
            do throws(ClientError) { try await readOnce() } catch {
                guard hasStatus else { return stream.finish(throwing: error) }
                await link.retry(unless: { number != readings || isOver }) { () throws(ClientError) in
                    try await readOnce()
                }
            }
        }
    }

    private func readOnce() async throws(ClientError) {
        let connection = try await link.open()
        guard !isOver else { return }
        signal?.cancel()
        signal = link.onSignal(BusNames.access, "StatusChanged", on: connection) { [weak self] in self?.changed($0) }
        let before = changes
        guard let status = try await link.statuses([permission])[permission], !isOver else { return }
        hasStatus = true
        if changes == before { stream.yield(status) }
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
