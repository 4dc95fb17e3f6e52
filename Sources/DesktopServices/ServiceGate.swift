// Whether permd-gate stands before a service that runs. It does where the connection that owns the service's name is of the
// gate's process.

import DBus
import PermissionModel

package struct ServiceGate: Sendable, Hashable {
    package enum State: Sendable, Hashable {
        /// Neither runs: the gate starts with the service.
        case idle
        case before
        /// The service is on the bus without it.
        case besides
    }

    /// The unit of the service, and that of the gate.
    package let service: String
    package let unit: String
    /// What programs use, as a word in a sentence.
    package let subject: String
    package let state: State

    /// Empty if there is no system bus.
    @LoopActor
    package static func find() async -> [ServiceGate] {
        let opened = await withCheckedContinuation { continuation in
            Connection.open(.system) { continuation.resume(returning: $0) }
        }
        guard let connection = try? opened.get() else { return [] }
        defer { connection.close() }
        func process(_ name: String) async -> UInt32? {
            await withCheckedContinuation { continuation in
                connection.askBus("GetConnectionUnixProcessID", .string(name)) {
                    continuation.resume(returning: $0?.uint32Value)
                }
            }
        }
        var gates: [ServiceGate] = []
        for (name, gate, service, unit, subject) in [
            ("org.bluez", BusNames.bluetoothGateService, "bluetooth", "permd-gate-bluez", "Bluetooth"),
            ("org.freedesktop.GeoClue2", BusNames.locationGateService, "geoclue", "permd-gate-geoclue", "the location"),
        ] {
            let (owner, stands) = (await process(name), await process(gate))
            let state: State = owner == nil ? .idle : owner == stands ? .before : .besides
            gates.append(ServiceGate(service: service, unit: unit, subject: subject, state: state))
        }
        return gates
    }
}
