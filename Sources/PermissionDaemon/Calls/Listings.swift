// Long replies, built in slices, between which all other events are handled.

import DBus
import PermissionModel

@LoopActor
final class Listings {
    typealias Row = [String: Value]
    /// Returns the next rows in their current state, or nil after the last. A row that changes between two slices is
    /// listed once, in its old or its new state.
    typealias Slice = @LoopActor () throws(PermissionError) -> [Row]?

    /// Rows per slice, which take about two milliseconds to read and encode.
    static let sliceRows = 256
    /// Apps per slice of a list that is ordered by app.
    static let sliceApps = 64
    /// The most bytes of a reply: 100,000 typical rows. libdbus allows 64 MiB per array, and holds it twice while it
    /// grows.
    private static let maximumSize = 32 << 20

    private struct Job {
        let call: MethodCall
        let prepare: @LoopActor (_ ready: @escaping @LoopActor () -> Void) -> Void
        let open: @LoopActor () -> Slice
    }

    private let isThere: @LoopActor (_ connection: String) -> Bool
    /// One list is built at a time, round-robin by caller, with the limits of waiting calls.
    private let waiting = CallScheduler<Job>()
    private var isMaking = false

    /// - Parameter isThere: Whether a caller is still on the bus.
    init(isThere: @escaping @LoopActor (_ connection: String) -> Bool) { self.isThere = isThere }

    /// Replies with rows, `aa{sv}`. When the call's turn comes, runs `prepare`, and `open` when that is ready.
    func add(
        _ call: MethodCall,
        after prepare: @escaping @LoopActor (_ ready: @escaping @LoopActor () -> Void) -> Void = { $0() },
        _ open: @escaping @LoopActor () -> Slice
    ) {
        let job = Job(call: call, prepare: prepare, open: open)
        guard waiting.add(job, of: call.sender, content: call.message.contentSize) == .waits else {
            return call.fail(.limitExceeded, "too many lists are waiting; wait for answers before calling again")
        }
        guard !isMaking else { return }
        isMaking = true
        next()
    }

    private func next() {
        while let job = waiting.take() {
            guard job.call.isWaiting, isThere(job.call.sender) else { continue }
            return job.prepare { [self] in
                // If the connection was lost meanwhile, the objects that `open` reads from are released.
                guard job.call.isWaiting else { return Loop.shared.afterPoll { self.next() } }
                advance(job.call, ArrayReply(to: job.call, of: "a{sv}"), job.open())
            }
        }
        isMaking = false
    }

    private func advance(_ call: MethodCall, _ reply: ArrayReply, _ slice: @escaping Slice) {
        guard call.isWaiting else { return Loop.shared.afterPoll { self.next() } }
        do throws(PermissionError) {
            if let rows = try slice(), isThere(call.sender) {
                for row in rows { reply.append(.properties(row)) }
                guard reply.size <= Listings.maximumSize else {
                    throw PermissionError(
                        .limitExceeded,
                        "the rows exceed \(Listings.maximumSize >> 20) MiB; call again with limit and offset")
                }
                return Loop.shared.afterPoll { self.advance(call, reply, slice) }
            }
            reply.send()
        } catch {
            call.fail(error)
        }
        Loop.shared.afterPoll { self.next() }
    }
}

/// The part of a list that `limit` and `offset` select.
struct RowPage {
    private var skipped: Int
    private var left: Int

    init(limit: Int, offset: Int) {
        skipped = offset
        left = limit
    }

    /// Whether all requested rows have been returned.
    var isFull: Bool { left == 0 }

    mutating func cut<Row>(_ rows: [Row]) -> [Row] {
        let part = rows.dropFirst(skipped).prefix(left)
        skipped = max(0, skipped - rows.count)
        left -= part.count
        return Array(part)
    }
}
