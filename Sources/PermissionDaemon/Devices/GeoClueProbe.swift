// Determines whether the location service GeoClue runs or can be activated on the system bus, and answers.

import DBus
import PermissionCore
import PermissionModel

@LoopActor
final class GeoClueProbe {
    static let deviceID = "geoclue"
    static let service = "org.freedesktop.GeoClue2"

    /// The time that the service has to answer, including its start, which takes well under a second.
    private static let answerTime: Int32 = 10_000

    /// Nil while the service neither runs nor can be activated, or if there is no system bus.
    private(set) var device: Device?

    private let system: SystemBus
    private var ping: PendingCall?
    private var onChange: (@LoopActor () -> Void)?

    init(address: BusAddress) { system = SystemBus(address) }

    /// Reports each change of ``device``.
    func start(onChange: @escaping @LoopActor () -> Void) {
        self.onChange = onChange
        system.start { [weak self] event in
            switch event {
            case .opened(let connection): self?.opened(connection)
            case .lost: self?.lost()
            case .absent, .silent: break
            }
        }
    }

    /// Queries the service again, for example after it has failed to start.
    func askAgain() {
        if system.connection == nil { system.tryNow() } else if ping == nil { look(mayAsk: true) }
    }

    // MARK: The bus

    private func opened(_ connection: Connection) {
        // Only this name's changes, because the system bus has many other names.
        connection.onOwnerChange(of: GeoClueProbe.service) { [weak self] in self?.ownerChanged($0) }
        look(mayAsk: true)
    }

    private func lost() {
        ping = nil
        become(nil)
    }

    private func ownerChanged(_ owner: String?) {
        // The service exits when idle and is activated on demand; a query would start it again at once.
        if owner != nil { ask() } else { look(mayAsk: false) }
    }

    private func look(mayAsk: Bool) {
        system.connection?.askBus("NameHasOwner", .string(GeoClueProbe.service)) { [weak self] isOwned in
            guard let self else { return }
            if isOwned?.boolValue == true { return ask() }
            system.connection?.askBus("ListActivatableNames") { [weak self] names in
                let isStartable = names?.strings?.contains(GeoClueProbe.service) == true
                if !isStartable { self?.become(nil) } else if mayAsk { self?.ask() }
            }
        }
    }

    private func ask() {
        guard ping == nil, let connection = system.connection else { return }
        if device == nil { become(GeoClueProbe.device(problem: "GeoClue has not answered yet; wait a moment")) }
        let question = Message.call(
            destination: GeoClueProbe.service, path: "/", interface: StandardInterfaces.peer, member: "Ping", [])
        ping = connection.call(question, timeoutMilliseconds: GeoClueProbe.answerTime) { [weak self] result in
            self?.ping = nil
            self?.become(GeoClueProbe.device(problem: GeoClueProbe.problem(result)))
        }
    }

    // MARK: Result

    /// Any reply of the service itself counts as an answer, even an error about this method.
    static func problem(_ result: Result<Message, BusError>) -> String {
        guard case .failure(let error) = result else { return "" }
        let refusals = [BusError.Name.unknownMethod, BusError.Name.unknownObject, BusError.Name.unknownInterface]
        if refusals.contains(error.name) { return "" }
        return "GeoClue does not answer: \(SafeText.title(error.message)); see systemctl status geoclue"
    }

    private static func device(problem: String) -> Device {
        Device(permission: .location, id: deviceID, name: "GeoClue location service", problem: problem)
    }

    private func become(_ new: Device?) {
        guard new != device else { return }
        device = new
        onChange?()
    }
}
