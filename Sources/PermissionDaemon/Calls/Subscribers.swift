// The subscribers of an interface's signals. Signals are unicast, because sandboxed apps would also receive broadcasts.

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

    var methods: [Method] {
        [
            Method("Subscribe", callers: .unsandboxed) { [self] call in
                names.insert(call.sender)
                call.reply()
            },
            Method("Unsubscribe", callers: .unsandboxed) { [self] call in
                names.remove(call.sender)
                call.reply()
            },
        ]
    }

    func departed(_ name: String) { names.remove(name) }

    func send(_ member: String, _ body: [Value]) {
        for name in names {
            connection.send(
                .signal(path: BusNames.root, interface: interface, member: member, body, destination: name))
        }
    }
}
