// An ordered log of events that tests can wait on, instead of sleeping.

public import DBus

/// Collects events. Waiting times out with an error that lists the events received, so that a broken program fails its
/// test instead of hanging it.
@LoopActor
public final class EventLog<Element: Sendable> {
    /// The timeout in milliseconds, far longer than a loaded machine needs.
    private static var patience: Int64 { 45_000 }

    private struct Waiter {
        let id: UInt64
        let isMet: @LoopActor ([Element]) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
        let timer: LoopTimer
    }

    /// The events until now, in order.
    public private(set) var all: [Element] = []
    private var waiters: [Waiter] = []
    private var unbounded: [CheckedContinuation<Void, Never>] = []
    private var lastWaiter: UInt64 = 0

    package nonisolated init() {}

    package func add(_ element: Element) {
        all.append(element)
        for continuation in unbounded { continuation.resume() }
        unbounded = []
        let met = waiters.filter { $0.isMet(all) }
        waiters.removeAll { waiter in met.contains { $0.id == waiter.id } }
        for waiter in met {
            waiter.timer.cancel()
            waiter.continuation.resume(returning: true)
        }
    }

    /// Returns all events once there are at least that many.
    ///
    /// - Throws: ``TestKitError`` after 45 seconds.
    @discardableResult
    public func wait(for count: Int) async throws(TestKitError) -> [Element] {
        try await wait("\(count) events") { $0.count >= count }
        return all
    }

    /// Returns the first matching event, past or future.
    ///
    /// - Parameters:
    ///   - what: What the error says was waited for.
    ///   - fits: Whether an event matches. It may be called several times for the same event.
    /// - Throws: ``TestKitError`` after 45 seconds.
    @discardableResult
    public func first(
        _ what: String = "such an event", where fits: @escaping @LoopActor (Element) -> Bool
    ) async throws(TestKitError) -> Element {
        try await wait(what) { $0.contains(where: fits) }
        guard let element = all.first(where: fits) else { throw TestKitError("\(what) is no longer in the log") }
        return element
    }

    /// Waits for one more event, without a timeout.
    package func next() async {
        await withCheckedContinuation { unbounded.append($0) }
    }

    private func wait(_ what: String, _ isMet: @escaping @LoopActor ([Element]) -> Bool) async throws(TestKitError) {
        if isMet(all) { return }
        lastWaiter += 1
        let id = lastWaiter
        let isInTime = await withCheckedContinuation { continuation in
            // Checked again, because suspending lets other work run on the loop first.
            if isMet(all) { return continuation.resume(returning: true) }
            let timer = Loop.shared.after(milliseconds: EventLog.patience) { [self] in
                waiters.removeAll { $0.id == id }
                continuation.resume(returning: false)
            }
            waiters.append(Waiter(id: id, isMet: isMet, continuation: continuation, timer: timer))
        }
        guard isInTime else {
            throw TestKitError("waited \(EventLog.patience / 1000) s for \(what); received until then: \(all)")
        }
    }
}
