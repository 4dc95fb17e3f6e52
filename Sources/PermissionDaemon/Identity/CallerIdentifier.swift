// Identifies the app behind each connection once, and forgets it when the connection closes.
//
// The bus reports the process, and the kernel everything else. If the bus gives a pidfd, it refers to the process that
// connected. A process ID alone may have been reused: permd opens a pidfd and asks the bus for the process ID again.
// The process must be older than the connection, and hold a socket for each connection with its ID. Then permd reads
// /proc and checks by the pidfd that the process was alive until then.

import DBus
import Glibc
import Logging
import PermissionModel
import ProcessIdentity
import System

@LoopActor
protocol CallerLookup: AnyObject {
    /// The caller behind a unique name, if it has been identified.
    func cached(_ name: String) -> Caller?
    /// Identifies the caller behind a unique name; nil if that is impossible. `completion` may run before this returns.
    func identify(_ name: String, _ completion: @escaping @LoopActor (Caller?) -> Void)
}

extension CallerLookup {
    /// The caller of an authorized call.
    func caller(of call: MethodCall) throws(PermissionError) -> Caller {
        guard let caller = cached(call.sender) else {
            throw PermissionError(.accessDenied, "the caller has left the bus")
        }
        return caller
    }
}

@LoopActor
final class CallerIdentifier: CallerLookup {
    /// Called when a connection that was identified has left the bus.
    var onLeft: (@LoopActor (String) -> Void)?

    private let connection: Connection
    private let refusals: BoundedLog
    private let identity: AppIdentity
    private let moments: ConnectionMoments
    private let holders: ConnectionHolders
    private var known: [String: Caller] = [:]
    private var asking: [String: [@LoopActor (Caller?) -> Void]] = [:]

    /// - Parameter old: The identifier of the lost connection, if there was one.
    init(
        connection: Connection, log: Logger, reader: ProcessReader = ProcessReader(),
        continuing old: CallerIdentifier? = nil
    ) {
        self.connection = connection
        refusals = BoundedLog(log, "connections were not identified")
        identity = AppIdentity(reader: reader)
        holders = ConnectionHolders(connection: connection, reader: reader, log: log)
        moments = ConnectionMoments(connection: connection, continuing: old?.moments)
        moments.onAppeared = { [processes = holders.processes] in processes.appeared($0) }
        moments.onVanished = { [weak self] in self?.left($0) }
        moments.start()
    }

    func cached(_ name: String) -> Caller? { known[name] }

    /// Passes nil if the caller cannot be identified. Concurrent calls for a connection are completed together, in
    /// order.
    func identify(_ name: String, _ completion: @escaping @LoopActor (Caller?) -> Void) {
        if let caller = known[name] { return completion(caller) }
        asking[name, default: []].append(completion)
        guard asking[name]?.count == 1 else { return }
        connection.askBus("GetConnectionCredentials", .string(name)) { [weak self] in self?.gotCredentials(name, $0) }
    }

    private func gotCredentials(_ name: String, _ reply: Value?) {
        guard let credentials = reply?.properties else { return settle(name, nil, "the bus does not know its process") }
        // Elements that are not bytes become zeros, which are no valid label.
        let label = (credentials["LinuxSecurityLabel"]?.elements ?? []).map { $0.byteValue ?? 0 }
        if let given = credentials["ProcessFD"]?.unixFDValue {
            guard let pid = Pidfd.pid(of: given.raw) else { return settle(name, nil, "its process has exited") }
            return settle(name, Evidence(pid: pid, pidfd: given, label: label))
        }
        guard !moments.busGivesProcesses, let pid = credentials["ProcessID"]?.uint32Value,
            let pid = Int32(exactly: pid),
            pid > 0
        else { return settle(name, nil, "the bus does not know its process") }
        let opened = Pidfd.open(pid)
        guard opened >= 0 else { return settle(name, nil, "its process has exited") }
        let evidence = Evidence(pid: pid, pidfd: UnixFD(owning: opened), label: label)
        connection.askBus("GetConnectionUnixProcessID", .string(name)) { [weak self] reply in
            guard reply?.uint32Value == UInt32(pid) else {
                self?.settle(name, nil, "the bus now reports another process")
                return
            }
            self?.holders.check(pid, name) { problem in
                if let problem { self?.settle(name, nil, problem.reason) } else { self?.settle(name, evidence) }
            }
        }
    }

    /// What the bus reports about a connection's process.
    private struct Evidence {
        let pid: Int32
        let pidfd: UnixFD
        /// The security label that the process had when it connected; empty if there is none.
        let label: [UInt8]
    }

    private func settle(_ name: String, _ evidence: Evidence) {
        do throws(UnknownProcess) {
            let found = try identity.process(evidence.pid, under: evidence.pidfd.raw, label: evidence.label)
            guard
                moments.busGivesProcesses
                    || moments.wasThere(found.key.startTime, before: name, isHolder: !holders.isBlind)
            else {
                throw UnknownProcess(
                    reason: "the process \(evidence.pid) is younger than the connection: its ID was reused")
            }
            settle(name, Caller(connection: name, app: found.app, process: found.key, isProxy: found.isProxy), "")
        } catch {
            settle(name, nil, error.reason)
        }
    }

    private func settle(_ name: String, _ caller: Caller?, _ reason: String) {
        guard let completions = asking.removeValue(forKey: name) else { return }
        if let caller {
            known[name] = caller
        } else {
            refusals.notice("The connection \(name) was not identified: \(reason)")
        }
        for completion in completions { completion(caller) }
    }

    private func left(_ name: String) {
        holders.processes.vanished(name)
        if asking[name] != nil { settle(name, nil, "it has left the bus") }
        guard known.removeValue(forKey: name) != nil else { return }
        onLeft?(name)
    }
}
