// The connection to the system bus for components that observe services there. Nothing waits for it.

import DBus
import System

@LoopActor
final class SystemBus {
    enum Event {
        case opened(Connection)
        /// The connection was lost and is being opened again.
        case lost
        /// There is no bus, or it has never answered. Reported once per outage.
        case absent(BusError)
        /// The bus has answered before and does not answer now. Earlier information stays valid, so that blocking the
        /// bus cannot change it. Reported once per outage.
        case silent
    }

    /// Milliseconds after which a bus that has never answered, or no longer exists, counts as absent. A running bus
    /// answers within a few milliseconds, or within seconds while a login starts everything at once. When permd starts,
    /// prompts wait that long.
    private static let patience: Int64 = 10_000

    private(set) var connection: Connection?
    private let address: BusAddress
    private var onEvent: (@LoopActor (Event) -> Void)?
    private var isOpening = false
    private var wasThere = false
    private var isAbsent = false
    private var backoff = Backoff()
    private var retry: LoopTimer?
    private var verdict: LoopTimer?
    /// The error of the last attempt since the bus was lost.
    private var lastFailure: BusError?

    init(_ address: BusAddress) { self.address = address }

    func start(_ onEvent: @escaping @LoopActor (Event) -> Void) {
        self.onEvent = onEvent
        waitForIt()
        open()
    }

    /// Connects at once if there is no connection.
    func tryNow() {
        backoff.reset()
        open()
    }

    private func waitForIt() {
        isAbsent = false
        lastFailure = nil
        verdict = Loop.shared.after(milliseconds: SystemBus.patience) { [weak self] in self?.judge() }
    }

    private func judge() {
        verdict = nil
        if let lastFailure, lastFailure.name == BusError.Name.noServer { return miss(lastFailure) }
        if wasThere { return onEvent?(.silent) ?? () }
        miss(BusError(name: BusError.Name.noReply, message: "the system bus does not answer"))
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
            case .failure(let error): failed(error)
            }
        }
    }

    private func opened(_ new: Connection) {
        connection = new
        wasThere = true
        backoff.reset()
        verdict?.cancel()
        new.onDisconnect { [weak self] in self?.lost() }
        onEvent?(.opened(new))
    }

    private func lost() {
        connection = nil
        onEvent?(.lost)
        waitForIt()
        open()
    }

    private func failed(_ error: BusError) {
        lastFailure = error
        // A bus that was never there counts as absent at once, and so does one that is gone after the wait.
        if !wasThere || verdict == nil && error.name == BusError.Name.noServer { miss(error) }
        retry = Loop.shared.after(milliseconds: backoff.next()) { [weak self] in self?.open() }
    }

    private func miss(_ error: BusError) {
        verdict?.cancel()
        guard !isAbsent, connection == nil else { return }
        isAbsent = true
        onEvent?(.absent(error))
    }
}
