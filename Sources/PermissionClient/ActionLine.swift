// One after the other, in the order added: the line that actions of an app stand in.

import DBus

/// A place in a line.
@LoopActor
final class Turn {
    fileprivate enum State {
        case waiting(CheckedContinuation<Bool, Never>?)
        case granted
        case left
    }

    fileprivate var state = State.waiting(nil)

    nonisolated init() {}

    /// Returns when it is its turn. A cancelled Task leaves the line.
    func wait(in line: ActionLine) async throws {
        let isGranted = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                switch state {
                case .waiting where Task.isCancelled: continuation.resume(returning: false)
                case .waiting: state = .waiting(continuation)
                case .granted: continuation.resume(returning: true)
                case .left: continuation.resume(returning: false)
                }
            }
        } onCancel: {
            Loop.shared.post { [self] in
                if case .waiting = state { line.leave(self) }
            }
        }
        guard isGranted else {
            line.leave(self)
            throw CancellationError()
        }
    }

    fileprivate func grant() {
        guard case .waiting(let continuation) = state else { return }
        state = .granted
        continuation?.resume(returning: true)
    }

    fileprivate func end() {
        if case .waiting(let continuation) = state { continuation?.resume(returning: false) }
        state = .left
    }
}

@LoopActor
final class ActionLine {
    private var turns: [Turn] = []
    private var idleWaiters: [CheckedContinuation<Void, Never>] = []

    nonisolated init() {}

    /// Takes the last place. Places are taken in the order of the calls, whichever threads they come from.
    nonisolated func enter() -> Turn {
        let turn = Turn()
        Loop.shared.post { [self] in
            // One that was cancelled at once has left before it came.
            if case .left = turn.state { return }
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
        guard turns.isEmpty else { return }
        for waiter in idleWaiters { waiter.resume() }
        idleWaiters = []
    }

    /// Returns when nobody stands in the line.
    func untilIdle() async {
        guard !turns.isEmpty else { return }
        await withCheckedContinuation { idleWaiters.append($0) }
    }
}
