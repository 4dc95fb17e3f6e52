// Determines whether the location service GeoClue runs or can be activated on the system bus, and answers.
//
// A service that does not run counts as usable without being started: it is started when an app asks for the location.
// One that has failed then counts as unusable until it runs.

import DBus
import PermissionCore
import PermissionModel
import System

@LoopActor
final class GeoClueProbe {
    nonisolated static let deviceID = "geoclue"
    static let service = "org.freedesktop.GeoClue2"

    /// The time that the service has to answer, including its start, which takes well under a second.
    private static let answerTime: Int32 = 10_000

    /// Nil while the service neither runs nor can be activated, or if there is no system bus.
    private(set) var device: Device?

    private let system: ReconnectingBus
    private var ping: PendingCall?
    private var onChange: (@LoopActor () -> Void)?

    init(on system: ReconnectingBus) { self.system = system }

    /// Reports each change of ``device``.
    func start(onChange: @escaping @LoopActor () -> Void) {
        self.onChange = onChange
        system.follow { [weak self] event in
            switch event {
            case .opened(let connection):
                // Only this name's changes, because the system bus has many other names.
                connection.onOwnerChange(of: GeoClueProbe.service) { _ in self?.find() }
                self?.find()
            case .lost:
                self?.ping = nil
                self?.publish(nil)
            case .failed: break
            }
        }
    }

    /// Examines the service again, and forgets that it has failed.
    func askAgain() {
        guard system.connection != nil else { return system.tryNow() }
        if device?.isUsable == false { device = nil }
        find()
    }

    /// Starts the service if it does not run.
    func isWanted() {
        if device != nil { ask() }
    }

    // MARK: The bus

    /// The service exits when idle and is activated on demand.
    private func find() {
        system.connection?.askBus("NameHasOwner", .string(GeoClueProbe.service)) { [weak self] isOwned in
            guard let self else { return }
            if isOwned?.boolValue == true { return ask() }
            system.connection?.askBus("ListActivatableNames") { [weak self] names in
                guard let self else { return }
                let isStartable = names?.strings?.contains(GeoClueProbe.service) == true
                if !isStartable {
                    publish(nil)
                } else if device == nil {
                    publish(GeoClueProbe.device(problem: ""))
                }
            }
        }
    }

    private func ask() {
        guard ping == nil, let connection = system.connection else { return }
        let item = Message.call(
            destination: GeoClueProbe.service, path: "/", interface: StandardInterfaces.peer, member: "Ping", [])
        ping = connection.call(item, timeoutMilliseconds: GeoClueProbe.answerTime) { [weak self] result in
            self?.ping = nil
            self?.publish(GeoClueProbe.device(problem: GeoClueProbe.problem(result)))
        }
    }

    // MARK: Result

    /// Any reply of the service itself counts as an answer, even an error about this method.
    static func problem(_ result: Result<Message, BusError>) -> String {
        guard case .failure(let error) = result else { return "" }
        let refusals = [BusError.Name.unknownMethod, BusError.Name.unknownObject, BusError.Name.unknownInterface]
        if refusals.contains(error.name) { return "" }
        return "GeoClue does not answer: \(SafeText.title(error.message)); check the service geoclue"
    }

    private static func device(problem: String) -> Device {
        Device(permission: .location, id: deviceID, name: "GeoClue location service", problem: problem)
    }

    private func publish(_ new: Device?) {
        guard new != device else { return }
        device = new
        onChange?()
    }
}
