// A connection to a bus that is opened again after a loss, which all components that need it share. Nothing blocks on it.

package import DBus

@LoopActor
package final class ReconnectingBus {
    package enum Event {
        case opened(Connection)
        /// The connection was lost.
        case lost
        /// It could not be opened.
        case failed(BusError)
    }

    package private(set) var connection: Connection?
    /// Whether it is opened again after a loss or a failure; otherwise only ``open(then:)`` does.
    package var reconnects: @LoopActor () -> Bool = { true }

    private let address: BusAddress
    private var followers: [@LoopActor (Event) -> Void] = []
    /// Those who wait for the connection that is being opened.
    private var waiting: [@LoopActor (Result<Connection, BusError>) -> Void] = []
    private var isOpening = false
    private var isClosed = false
    private var backoff: Backoff
    private var retry: LoopTimer?

    /// - Parameter backoff: The pauses between attempts.
    package init(_ address: BusAddress = .system, backoff: Backoff = Backoff()) {
        self.address = address
        self.backoff = backoff
    }

    /// Reports events, and the connection that is there already.
    ///
    /// - Parameter opens: Whether to connect.
    package func follow(opens: Bool = true, _ onEvent: @escaping @LoopActor (Event) -> Void) {
        followers.append(onEvent)
        if let connection { onEvent(.opened(connection)) } else if opens { open() }
    }

    private func report(_ event: Event) { for follower in followers { follower(event) } }

    /// Passes the connection: at once if it is open, otherwise when it has been opened, which all wait for together.
    package func open(then body: @escaping @LoopActor (Result<Connection, BusError>) -> Void) {
        if let connection {
            if connection.isConnected { return body(.success(connection)) }
            // Its handler was not called yet.
            lost(connection)
        }
        waiting.append(body)
        open()
    }

    /// Connects at once if there is no connection.
    package func tryNow() {
        backoff.reset()
        open()
    }

    /// Closes the connection permanently. Those who wait for it get an error.
    package func close() {
        isClosed = true
        retry?.cancel()
        connection?.close()
        connection = nil
        endWait(.failure(BusError(name: BusError.Name.disconnected, message: "this connection to the bus was closed")))
    }

    private func open() {
        guard connection == nil, !isOpening, !isClosed else { return }
        retry?.cancel()
        isOpening = true
        Connection.open(address) { [weak self] result in
            guard let self, !isClosed else { return (try? result.get())?.close() ?? () }
            isOpening = false
            switch result {
            case .success(let connection): opened(connection)
            case .failure(let error):
                tryLater()
                report(.failed(error))
            }
            endWait(result)
        }
    }

    private func opened(_ new: Connection) {
        connection = new
        backoff.reset()
        new.onDisconnect { [weak self] in self?.lost(new) }
        report(.opened(new))
    }

    private func lost(_ gone: Connection) {
        guard connection === gone else { return }
        connection = nil
        report(.lost)
        tryLater()
    }

    private func tryLater() {
        guard reconnects() else { return }
        retry = Loop.shared.after(milliseconds: backoff.next()) { [weak self] in
            if let self, reconnects() { open() }
        }
    }

    private func endWait(_ result: Result<Connection, BusError>) {
        let bodies = waiting
        waiting = []
        for body in bodies { body(result) }
    }
}
