// Lists that are read by a worker, as the history by the store's: one at a time, so that other callers' changes are made in
// between.

import DBus
import PermissionModel

@LoopActor
final class ListQueue {
    typealias Row = [String: Value]
    typealias Completion = @LoopActor (Result<[Row], PermissionError>) -> Void

    private struct Job {
        let call: MethodCall
        let read: @LoopActor (@escaping Completion) -> Void
    }

    /// The app of a connection; nil once it has left the bus.
    private let app: @LoopActor (_ connection: String) -> AppID?
    /// In turns of the apps, with the limits of waiting calls.
    private let waiting = CallScheduler<Job>()
    private var isReading = false

    init(app: @escaping @LoopActor (_ connection: String) -> AppID?) { self.app = app }

    /// Replies with the rows, `aa{sv}`, that `read` passes when it is the call's turn.
    func add(_ call: MethodCall, _ read: @escaping @LoopActor (@escaping Completion) -> Void) {
        let job = Job(call: call, read: read)
        let caller = app(call.sender)?.description ?? ""
        guard waiting.add(job, of: caller, content: call.message.contentSize) == .waits else {
            return call.fail(.limitExceeded, "too many lists are waiting; wait for answers before calling again")
        }
        guard !isReading else { return }
        isReading = true
        readNext()
    }

    private func readNext() {
        while let job = waiting.take() {
            guard job.call.isWaiting, app(job.call.sender) != nil else { continue }
            return job.read { [self] result in
                if job.call.isWaiting { job.call.answer(result.map { [.rows($0)] }) }
                Loop.shared.afterPoll { self.readNext() }
            }
        }
        isReading = false
    }
}
