// What happened, in order, and waiting for more of it: events instead of sleeps.

public import DBus

/// Collects what handlers see. Waiting is for an event, and gives up with an error that lists what came instead, so that
/// a broken program fails its test instead of hanging it.
@LoopActor
public final class EventLog<Element: Sendable> {
    /// Milliseconds until waiting gives up: far beyond what a loaded machine needs.
    private static var patience: Int64 { 45_000 }

    private struct Waiter {
        let id: UInt64
        let isMet: @LoopActor ([Element]) -> Bool
        let continuation: CheckedContinuation<Bool, Never>
        let timer: LoopTimer
    }

    public private(set) var all: [Element] = []
    private var waiters: [Waiter] = []
    private var unbounded: [CheckedContinuation<Void, Never>] = []
    private var lastWaiter: UInt64 = 0

    public nonisolated init() {}

    public func add(_ element: Element) {
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

    /// All events, once there are that many.
    @discardableResult
    public func wait(for count: Int) async throws(TestKitError) -> [Element] {
        try await wait("\(count) events") { $0.count >= count }
        return all
    }

    /// The first event, past or future, that fits.
    @discardableResult
    public func first(
        _ what: String = "such an event", where fits: @escaping @LoopActor (Element) -> Bool
    ) async throws(TestKitError) -> Element {
        try await wait(what) { $0.contains(where: fits) }
        guard let element = all.first(where: fits) else { throw TestKitError("\(what) came and went") }
        return element
    }

    /// Returns when one more has come, however long that takes.
    public func next() async {
        await withCheckedContinuation { unbounded.append($0) }
    }

    private func wait(_ what: String, _ isMet: @escaping @LoopActor ([Element]) -> Bool) async throws(TestKitError) {
        if isMet(all) { return }
        lastWaiter += 1
        let id = lastWaiter
        let isInTime = await withCheckedContinuation { continuation in
            // Looked at again: it may have come between, as a suspension gives the loop away first.
            if isMet(all) { return continuation.resume(returning: true) }
            let timer = Loop.shared.after(milliseconds: EventLog.patience) { [self] in
                waiters.removeAll { $0.id == id }
                continuation.resume(returning: false)
            }
            waiters.append(Waiter(id: id, isMet: isMet, continuation: continuation, timer: timer))
        }
        guard isInTime else {
            throw TestKitError("waited for \(what) for \(EventLog.patience / 1000) s; until then came: \(all)")
        }
    }
}
