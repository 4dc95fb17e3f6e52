// One after the other, in the order added: the line that actions of an app stand in.

import DBus

/// A place in a line.
@LoopActor
final class Turn {
    fileprivate enum State {
        case waiting(CheckedContinuation<Bool, Never>?)
        case granted
        case left
        /// The line was closed before it came.
        case refused
    }

    fileprivate var state = State.waiting(nil)

    nonisolated init() {}

    /// Returns when it is its turn. A cancelled Task leaves the line.
    /// - Throws: `CancellationError`; ``QueueClosed``.
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

/// The action whose line it was is over.
struct QueueClosed: Error {}

@LoopActor
final class SerialQueue {
    private var turns: [Turn] = []
    /// Made by the action itself, side by side if it wants that.
    private var requests = 0
    private var closeWaiters: [CheckedContinuation<Void, Never>] = []
    private var isClosed = false

    nonisolated init() {}

    /// Takes the last place. Places are taken in the order of the calls, whichever threads they come from.
    nonisolated func enter() -> Turn {
        let turn = Turn()
        Loop.shared.post { [self] in
            // One that was cancelled at once has left before it came.
            if case .left = turn.state { return }
            guard !isClosed else { return turn.refuse() }
            turns.append(turn)
            if turns.count == 1 { turn.grant() }
        }
        return turn
    }

    /// Gives the place up; the next one is served if this one was. Does nothing the second time.
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

    /// Returns when nobody stands in the line and no request is under way, and lets nobody in any more.
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
