// Long answers, made a slice at a time: between two slices everything else is served.

import DBus
import PermissionModel

@LoopActor
final class Listings {
    typealias Row = [String: Value]
    /// The next rows; nil after the last. It looks at things as they are then, so a row that changes meanwhile comes
    /// once, as it was or as it is.
    typealias Slice = @LoopActor () throws(PermissionError) -> [Row]?

    /// Rows that are read and encoded in a turn, in about two milliseconds.
    static let sliceRows = 256
    /// Apps in a slice of a list by app.
    static let sliceApps = 64
    /// Bytes of an answer: a hundred thousand usual rows. libdbus takes 64 MiB in one array, and holds it twice when it grows.
    private static let maximumSize = 32 << 20

    private struct Job {
        let call: MethodCall
        let prepare: @LoopActor (_ ready: @escaping @LoopActor () -> Void) -> Void
        let open: @LoopActor () -> Slice
    }

    private let isThere: @LoopActor (_ connection: String) -> Bool
    /// One is made at a time, in turns of their callers, with the bounds of waiting calls.
    private let waiting = CallScheduler<Job>()
    private var isMaking = false

    /// - Parameter isThere: whether a caller still is on the bus.
    init(isThere: @escaping @LoopActor (_ connection: String) -> Bool) { self.isThere = isThere }

    /// Answers the call with rows, `aa{sv}`. When its turn has come, `prepare` is called, and `open` when that is ready.
    func add(
        _ call: MethodCall, after prepare: @escaping @LoopActor (_ ready: @escaping @LoopActor () -> Void) -> Void,
        _ open: @escaping @LoopActor () -> Slice
    ) {
        let job = Job(call: call, prepare: prepare, open: open)
        guard waiting.add(job, of: call.sender, content: call.message.contentSize) == .waits else {
            return call.fail(.limitExceeded, "too many listings wait; wait for answers before asking on")
        }
        guard !isMaking else { return }
        isMaking = true
        next()
    }

    private func next() {
        while let job = waiting.take() {
            guard job.call.isWaiting, isThere(job.call.sender) else { continue }
            return job.prepare { [self] in
                // A connection that is lost meanwhile takes with it what the rows would be read from.
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
                        "these rows are more than \(Listings.maximumSize >> 20) MiB; ask with limit and offset")
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

/// The part of a list that is asked for, cut out of it as it comes.
struct RowPage {
    private var skipped: Int
    private var left: Int

    init(limit: Int, offset: Int) {
        skipped = offset
        left = limit == 0 ? .max : limit
    }

    /// Nothing that comes is asked for any more.
    var isFull: Bool { left == 0 }

    mutating func cut<Row>(_ rows: [Row]) -> [Row] {
        let part = rows.dropFirst(skipped).prefix(left)
        skipped = max(0, skipped - rows.count)
        left -= part.count
        return Array(part)
    }
}
