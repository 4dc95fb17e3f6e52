// The way to the system bus for those who only look: never waited for, and tried again for as long as somebody looks.

import DBus

@LoopActor
final class SystemBus {
    enum Event {
        case opened(Connection)
        /// The connection was cut; another one is on its way.
        case lost
        /// There is no bus, or none has answered yet. Said once, until it was there again.
        case absent(BusError)
        /// It was there, and does not answer: whoever can make it wait must not change what it said. Said once, until it
        /// answers again.
        case silent
    }

    /// Milliseconds after which a bus that has never answered counts as none, as does one that is gone. One that runs
    /// answers within a few, and within seconds while a login starts everything at once; prompts wait that long when
    /// permd starts.
    private static let patience: Int64 = 10_000
    /// Milliseconds between two tries, twice as long each time: a bus that cut one connection takes the next, and one that
    /// is away for long is back after at most as long again, or a minute.
    private static let firstPause: Int64 = 10
    private static let longestPause: Int64 = 60_000

    private(set) var connection: Connection?
    private let address: BusAddress
    private var onEvent: (@LoopActor (Event) -> Void)?
    private var isOpening = false
    private var wasThere = false
    private var isAbsent = false
    private var pause = SystemBus.firstPause
    private var retry: LoopTimer?
    private var verdict: LoopTimer?
    /// What the last try since the bus was lost failed with.
    private var lastFailure: BusError?

    init(_ address: BusAddress) { self.address = address }

    func start(_ onEvent: @escaping @LoopActor (Event) -> Void) {
        self.onEvent = onEvent
        waitForIt()
        open()
    }

    func stop() {
        onEvent = nil
        retry?.cancel()
        verdict?.cancel()
        connection?.close()
        connection = nil
    }

    /// Not later but now, if it is not there.
    func tryNow() {
        pause = SystemBus.firstPause
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
        guard onEvent != nil, connection == nil, !isOpening else { return }
        retry?.cancel()
        isOpening = true
        Connection.open(address) { [weak self] result in
            self?.isOpening = false
            guard let self, onEvent != nil else { return (try? result.get())?.close() ?? () }
            switch result {
            case .success(let connection): opened(connection)
            case .failure(let error): failed(error)
            }
        }
    }

    private func opened(_ new: Connection) {
        connection = new
        wasThere = true
        pause = SystemBus.firstPause
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
        // Where there never was one, nothing is waited for; nor where it is gone after all.
        if !wasThere || verdict == nil && error.name == BusError.Name.noServer { miss(error) }
        retry = Loop.shared.after(milliseconds: pause) { [weak self] in self?.open() }
        pause = min(2 * pause, SystemBus.longestPause)
    }

    private func miss(_ error: BusError) {
        verdict?.cancel()
        guard !isAbsent, connection == nil else { return }
        isAbsent = true
        onEvent?(.absent(error))
    }
}
