// The line in which the actions of an app wait for their turn.

import DBus

/// A place in the line.
@LoopActor
final class Turn {
    fileprivate enum State {
        case waiting(CheckedContinuation<Bool, Never>?)
        case granted
        case left
        /// The line was closed before the turn came.
        case refused
    }

    fileprivate var state = State.waiting(nil)

    nonisolated init() {}

    /// Waits for the turn. Cancelling the Task leaves the line.
    /// - Throws: `CancellationError`; ``QueueClosed`` if the line was closed first.
    func wait(in line: SerialQueue) async throws {
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                switch state {
                case .waiting where Task.isCancelled: continuation.resume(returning: false)
                case .waiting: state = .waiting(continuation)
                case .granted: continuation.resume(returning: true)
                case .left, .refused: continuation.resume(returning: false)
                }
            }
        } onCancel: {
            Loop.shared.post { [self] in
                if case .waiting = state { line.leave(self) }
            }
        }
        guard isGranted else {
            if case .refused = state { throw QueueClosed() }
            line.leave(self)
            throw CancellationError()
        }
    }

    fileprivate func grant() {
        guard case .waiting(let continuation) = state else { return }
        state = .granted
        continuation?.resume(returning: true)
    }

    fileprivate func refuse() {
        if case .waiting(let continuation) = state {
            state = .refused
            continuation?.resume(returning: false)
        }
    }

    fileprivate func end() {
        if case .waiting(let continuation) = state { continuation?.resume(returning: false) }
        state = .left
    }
}

/// The action to which the line belongs has ended.
struct QueueClosed: Error {}

@LoopActor
final class SerialQueue {
    private var turns: [Turn] = []
    /// The number of requests that the action itself has under way. They do not take turns.
    private var requests = 0
    private var closeWaiters: [CheckedContinuation<Void, Never>] = []
    private var isClosed = false

    nonisolated init() {}

    /// Takes the last place. Places are in the order of the calls, from any thread.
    nonisolated func enter() -> Turn {
        let turn = Turn()
        Loop.shared.post { [self] in
            // It may have been cancelled before it was added.
            if case .left = turn.state { return }
            guard !isClosed else { return turn.refuse() }
            turns.append(turn)
            if turns.count == 1 { turn.grant() }
        }
        return turn
    }

    /// Gives up the place. If it was the first, the next one gets its turn. A second call has no effect.
    func leave(_ turn: Turn) {
        turn.end()
        guard let index = turns.firstIndex(where: { $0 === turn }) else { return }
        turns.remove(at: index)
        if index == 0 { turns.first?.grant() }
        closeIfIdle()
    }

    func beginRequest() throws(QueueClosed) {
        guard !isClosed else { throw QueueClosed() }
        requests += 1
    }

    func endRequest() {
        requests -= 1
        closeIfIdle()
    }

    /// Closes the line as soon as no action waits in it and no request is under way, and returns then.
    func close() async {
        await withCheckedContinuation { waiter in
            closeWaiters.append(waiter)
            closeIfIdle()
        }
    }

    private func closeIfIdle() {
        guard turns.isEmpty, requests == 0, !closeWaiters.isEmpty else { return }
        isClosed = true
        for waiter in closeWaiters { waiter.resume() }
        closeWaiters = []
    }
}
