// Finds out whether the panel shows items: whether there is a StatusNotifierWatcher with a host (StatusNotifierItem
// specification).

import DBus
import PermissionClient

@LoopActor
final class PanelWatcher {
    enum State: Sendable, Hashable {
        /// Not known yet, or absent since a moment ago.
        case unknown
        /// There is no watcher, or nobody shows its items.
        case absent
        /// With the unique name of the watcher.
        case present(String)
    }

    static let name = "org.kde.StatusNotifierWatcher"
    static let path = "/StatusNotifierWatcher"
    /// Milliseconds. A panel that hangs longer counts as absent, until it says something.
    private static let patience: Int32 = 5000

    private let connection: Connection
    private(set) var state = State.unknown
    var onChange: @LoopActor () -> Void = {}
    /// Milliseconds after which a panel counts as absent: panels that restart, or start at login, are back by then, and
    /// notifications would only appear and disappear.
    private static let settling: Int64 = 2000
    private var absence: LoopTimer?
    /// How often the state was read; only the last result counts.
    private var reads = 0

    init(_ connection: Connection) { self.connection = connection }

    func start() {
        connection.onOwnerChange(of: PanelWatcher.name) { [weak self] _ in self?.read() }
        for member in ["StatusNotifierHostRegistered", "StatusNotifierHostUnregistered"] {
            connection.onSignal(sender: PanelWatcher.name, interface: PanelWatcher.name, member: member) {
                [weak self] _ in self?.read()
            }
        }
        read()
    }

    private func read() {
        reads += 1
        let number = reads
        onLoop { [self] in
            let found = await found()
            if number == reads { apply(found) }
        }
    }

    private func apply(_ found: State) {
        guard found != state, found != .absent || absence == nil else { return }
        absence?.cancel()
        absence = nil
        guard found == .absent else {
            state = found
            return onChange()
        }
        state = .unknown
        absence = Loop.shared.after(milliseconds: PanelWatcher.settling) { [weak self] in
            guard let self else { return }
            absence = nil
            state = .absent
            onChange()
        }
    }

    private func found() async -> State {
        let query = Message.busCall("GetNameOwner", [.string(PanelWatcher.name)])
        // A watcher in a sandbox could keep notifications from the person.
        guard let named = try? await connection.call(query).body.first?.stringValue,
            let owner = try? await TrustedOwner.find(named, on: connection)
        else { return .absent }
        let property = Message.call(
            destination: owner, path: PanelWatcher.path, interface: StandardInterfaces.properties, member: "Get",
            [.string(PanelWatcher.name), .string("IsStatusNotifierHostRegistered")])
        let reply = try? await connection.call(property, timeoutMilliseconds: PanelWatcher.patience)
        guard case .variant(.bool(true))? = reply?.body.first else { return .absent }
        return .present(owner)
    }
}
