// Waits until the person pauses, before a window comes that gets the keyboard at once: in GNOME Shell on Wayland.

import DBus

/// One wait, with the help of the compositor (org.gnome.Mutter.IdleMonitor).
@LoopActor
final class InputPause {
    /// Milliseconds without any input.
    private static let length: UInt64 = 700
    /// Milliseconds after which a person who does not pause is asked all the same.
    private static let patience: Int64 = 5000
    private static let name = "org.gnome.Mutter.IdleMonitor"
    private static let path = "/org/gnome/Mutter/IdleMonitor/Core"

    private var connection: Connection?
    private var timer: LoopTimer?
    private var continuation: CheckedContinuation<Void, Never>?
    private var isOver = false

    nonisolated init() {}

    /// Returns when the person pauses, when the task is cancelled, and at once where the compositor does not know pauses.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.continuation = continuation
                watch()
            }
        } onCancel: {
            Loop.shared.post { [self] in end() }
        }
    }

    private func watch() {
        connection = try? Connection.open(.session)
        guard let connection, !isOver else { return end() }
        connection.onSignal(
            sender: InputPause.name, path: InputPause.path, interface: InputPause.name, member: "WatchFired"
        ) { [weak self] _ in self?.end() }
        let call = Message.call(
            destination: InputPause.name, path: InputPause.path, interface: InputPause.name, member: "AddIdleWatch",
            [.uint64(InputPause.length)], noAutoStart: true)
        connection.call(call) { [weak self] reply in
            if case .failure = reply { self?.end() }
        }
        timer = Loop.shared.after(milliseconds: InputPause.patience) { [weak self] in self?.end() }
    }

    /// The compositor forgets the watch with its connection.
    private func end() {
        isOver = true
        timer?.cancel()
        let connection = connection
        self.connection = nil
        Loop.shared.later { connection?.close() }
        continuation?.resume()
        continuation = nil
    }
}
