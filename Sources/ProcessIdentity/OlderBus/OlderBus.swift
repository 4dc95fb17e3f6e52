// What stands for the pidfds of connections on a bus that does not give them, such as dbus-daemon before 1.16.
//
// A process ID may have been reused since the process connected: the process that has it now must be older than the
// connection, and hold a socket for each connection with its ID.

package import DBus
package import PermissionModel

@LoopActor
package final class OlderBus: ProcessProof {
    private let times: ConnectionTimes
    private let sockets: ConnectionSockets

    /// - Parameters:
    ///   - old: The same for a lost connection. What it knows is kept, so that losing it makes no caller look new.
    ///   - warn: Gets a sentence for the administrator.
    package init(
        _ connection: Connection, reader: ProcessReader, continuing old: OlderBus?,
        warn: @escaping @LoopActor (String) -> Void
    ) {
        times = ConnectionTimes(connection: connection, continuing: old?.times)
        sockets = ConnectionSockets(connection: connection, reader: reader, warn: warn)
        times.onAppeared = { [processes = sockets.processes] in processes.appeared($0) }
    }

    /// Must be called after the match rule for NameOwnerChanged was added, so that no connection is missed.
    package func start() { times.start() }

    package func appeared(_ name: String) { times.appeared(name) }

    package func vanished(_ name: String) {
        times.vanished(name)
        sockets.processes.vanished(name)
    }

    package func check(
        _ process: ProcessKey, _ name: String, _ completion: @escaping @LoopActor (UnknownProcess?) -> Void
    ) {
        guard !times.busGivesProcesses else {
            return completion(UnknownProcess(reason: "the bus does not know its process"))
        }
        sockets.check(process.pid, name) { [times] problem in
            if let problem { return completion(problem) }
            let isOlder = times.wasThere(process.startTime, before: name)
            let reason = "the process \(process.pid) is younger than the connection: its ID was reused"
            completion(isOlder ? nil : UnknownProcess(reason: reason))
        }
    }
}
