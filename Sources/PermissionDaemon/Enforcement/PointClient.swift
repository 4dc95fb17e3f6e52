// The object at which points of the system ask this permd (org.permd.GuardClient1). All of a bus share it, as an object has
// one place on a connection.

import DBus
import PermissionModel
import System

@LoopActor
final class PointClient {
    private struct Weak { weak var connection: PointConnection? }

    private var points: [Weak] = []

    init(_ objects: SystemBusObjects) { objects.add(served, at: BusNames.guardClientObject) }

    func add(_ connection: PointConnection) { points.append(Weak(connection: connection)) }

    private var served: Interface {
        Interface(
            name: BusNames.guardClientInterface,
            methods: [
                Method(
                    name: "Ask",
                    inputs: [
                        "request": "t", "process": "h", "permission": "s", "device": "t", "program": "s", "waits": "b",
                    ], outputs: [:]
                ) { [weak self] in self?.caller($0)?.ask($0) },
                Method(name: "Withdraw", inputs: ["request": "t"], outputs: [:]) { [weak self] in
                    self?.caller($0)?.withdraw($0)
                },
                Method(
                    name: "BeginUse", inputs: ["use": "t", "process": "h", "permission": "s", "device": "s"],
                    outputs: [:]
                ) { [weak self] in self?.caller($0)?.beginUse($0) },
                Method(name: "EndUse", inputs: ["use": "t"], outputs: [:]) { [weak self] in
                    self?.caller($0)?.endUse($0)
                },
            ])
    }

    private func caller(_ call: MethodCall) -> PointConnection? {
        if let point = points.first(where: { $0.connection?.owner == call.sender }) { return point.connection }
        call.fail(PermissionError(.accessDenied, "only permd-guard and permd-gate may call this"))
        return nil
    }
}
