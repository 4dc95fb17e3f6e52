// Has the bus start permd-indicator, once for each time that there is something to show. permd tells it nothing: it
// reads what is in use as any settings program does, so whoever owns its name learns nothing by that.

import DBus
import Logging
import PermissionModel

@LoopActor
final class IndicatorService {
    private let connection: Connection
    private let log: Logger
    /// The setting `[Indicator] Enabled`.
    private let isEnabled: @LoopActor () -> Bool
    private var isInUse = false

    init(connection: Connection, log: Logger, isEnabled: @escaping @LoopActor () -> Bool) {
        self.connection = connection
        self.log = log
        self.isEnabled = isEnabled
    }

    /// What is in use has changed. The first use starts the indicator; the others it notices itself.
    func changed(isInUse now: Bool) {
        let before = isInUse
        isInUse = now
        if now, !before { start() }
    }

    /// A prompt was answered, and the answers are stored.
    func answered(_ decisions: [Decision]) {
        if decisions.contains(where: \.isGrantForEver) { start() }
    }

    /// Grants were taken back because nobody used them.
    func tookBack() { start() }

    /// Does nothing if it runs already. There is no second attempt: an indicator that is not installed, or that the user
    /// has masked, is no error.
    private func start() {
        guard isEnabled() else { return }
        let start = Message.busCall("StartServiceByName", [.string(BusNames.indicatorService), .uint32(0)])
        connection.call(start) { [log] result in
            guard case .failure(let error) = result, error.name != BusError.Name.serviceUnknown else { return }
            log.info("The indicator could not be started: \(error.message)")
        }
    }
}
