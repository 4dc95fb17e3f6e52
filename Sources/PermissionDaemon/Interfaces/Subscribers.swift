// Who subscribed to an interface's signals. They go unicast: a broadcast would tell every sandboxed app too.

import DBus
import PermissionModel

@LoopActor
final class Subscribers {
    private let connection: Connection
    private let interface: String
    private(set) var names: Set<String> = []

    init(connection: Connection, interface: String) {
        self.connection = connection
        self.interface = interface
    }

    /// `Subscribe` and `Unsubscribe`, rows of the interface's table.
    var methods: [Method] {
        [
            Method(name: "Subscribe", inputs: [], outputs: [], callers: .unsandboxed) { [self] call in
                names.insert(call.sender)
                call.reply()
            },
            Method(name: "Unsubscribe", inputs: [], outputs: [], callers: .unsandboxed) { [self] call in
                names.remove(call.sender)
                call.reply()
            },
        ]
    }

    func left(_ name: String) { names.remove(name) }

    func send(_ member: String, _ body: [Value]) {
        for name in names {
            connection.send(
                .signal(path: BusNames.root, interface: interface, member: member, body, destination: name))
        }
    }
}
