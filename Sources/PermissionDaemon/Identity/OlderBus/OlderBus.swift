// What stands for the pidfds of connections on a bus that does not give them, such as dbus-daemon before 1.16.
//
// A process ID may have been reused since the process connected: the process that has it now must be older than the
// connection, and hold a socket for each connection with its ID.

import DBus
import Logging
import PermissionModel
import ProcessIdentity

@LoopActor
final class OlderBus: ProcessProof {
    private let moments: ConnectionMoments
    private let holders: ConnectionHolders

    /// - Parameter old: The same for a lost connection. What it knows is kept, so that losing it makes no caller look new.
    init(_ connection: Connection, reader: ProcessReader, log: Logger, continuing old: OlderBus?) {
        moments = ConnectionMoments(connection: connection, continuing: old?.moments)
        holders = ConnectionHolders(connection: connection, reader: reader, log: log)
        moments.onAppeared = { [processes = holders.processes] in processes.appeared($0) }
    }

    /// Must be called after the match rule for NameOwnerChanged was added, so that no connection is missed.
    func start() { moments.start() }

    func appeared(_ name: String) { moments.appeared(name) }

    func vanished(_ name: String) {
        moments.vanished(name)
        holders.processes.vanished(name)
    }

    func check(_ process: ProcessKey, _ name: String, _ completion: @escaping @LoopActor (UnknownProcess?) -> Void) {
        guard !moments.busGivesProcesses else {
            return completion(UnknownProcess(reason: "the bus does not know its process"))
        }
        holders.check(process.pid, name) { [moments, holders] problem in
            if let problem { return completion(problem) }
            let isOlder = moments.wasThere(process.startTime, before: name, isHolder: !holders.isBlind)
            let reason = "the process \(process.pid) is younger than the connection: its ID was reused"
            completion(isOlder ? nil : UnknownProcess(reason: reason))
        }
    }
}
