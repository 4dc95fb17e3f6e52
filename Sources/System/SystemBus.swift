// The connection to the system bus, which all components that observe services there share. Nothing waits for it.

package import DBus

@LoopActor
package final class SystemBus {
    package enum Event {
        case opened(Connection)
        /// The connection was lost and is being opened again.
        case lost
        /// It could not be opened, and is tried again.
        case failed(BusError)
    }

    package private(set) var connection: Connection?
    private let address: BusAddress
    private var followers: [@LoopActor (Event) -> Void] = []
    private var isOpening = false
    private var backoff = Backoff()
    private var retry: LoopTimer?

    package init(_ address: BusAddress = .system) { self.address = address }

    /// Connects with the first follower. A connection that is there already is reported at once.
    package func follow(_ onEvent: @escaping @LoopActor (Event) -> Void) {
        followers.append(onEvent)
        if let connection { onEvent(.opened(connection)) } else { open() }
    }

    private func report(_ event: Event) { for follower in followers { follower(event) } }

    /// Connects at once if there is no connection.
    package func tryNow() {
        backoff.reset()
        open()
    }

    private func open() {
        guard connection == nil, !isOpening else { return }
        retry?.cancel()
        isOpening = true
        Connection.open(address) { [weak self] result in
            guard let self else { return (try? result.get())?.close() ?? () }
            isOpening = false
            switch result {
            case .success(let connection): opened(connection)
            case .failure(let error):
                retry = Loop.shared.after(milliseconds: backoff.next()) { [weak self] in self?.open() }
                report(.failed(error))
            }
        }
    }

    private func opened(_ new: Connection) {
        connection = new
        backoff.reset()
        new.onDisconnect { [weak self] in
            self?.connection = nil
            self?.report(.lost)
            self?.open()
        }
        report(.opened(new))
    }
}
