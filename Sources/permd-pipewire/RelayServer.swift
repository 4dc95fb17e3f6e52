// A sound server that connects to PipeWire for its own clients, and the processes at the other ends of its sockets.

import CaptureRules
import DBus
import Glibc
import PermissionModel
import ProcessIdentity

@LoopActor
final class RelayServer {
    /// The most descriptors of other processes that one search reads, which takes about 0.3 s. If more are needed, the
    /// clients stay unknown.
    private static let mostDescriptors = 200_000

    private let key: ProcessKey
    private let apps: ProcessApps
    private let sockets: UnixSockets
    private(set) var isRelay = false
    var isChanged = true
    /// Whether a client whose process cannot be found may have been there at the last look. Nobody new can be told apart
    /// from it.
    private(set) var hasHiddenClients = false
    /// The process that holds each connection, by the inode of its socket.
    private var processes: [UInt32: ProcessKey] = [:]

    init(_ key: ProcessKey, _ apps: ProcessApps, _ sockets: UnixSockets) {
        self.key = key
        self.apps = apps
        self.sockets = sockets
        // If that cannot be read, its clients are nobody's.
        isRelay = (try? ends())?.isListening ?? true
    }

    /// The owner of each client, from what it claims and who is connected.
    func owners(_ claims: [ObjectID: Claim]) -> [ObjectID: Owner] {
        guard let ends = try? ends() else { return claims.mapValues { _ in .unknown } }
        let elsewhere = OtherNetworks(apps.reader).connections(ends.elsewhere)
        hasHiddenClients = ends.hasRemoteClients || elsewhere == nil
        let isFound = findProcesses(of: ends.peers, claims: Set(claims.values.compactMap(\.pid)))
        var counts: [ProcessKey: Int] = [:]
        for inode in ends.peers { if let process = processes[inode] { counts[process, default: 0] += 1 } }
        let peers =
            counts.map { RelayPeer([relayProcess($0)], connections: $1) }
            + (elsewhere ?? []).map { RelayPeer($0.processes.map(relayProcess), connections: $0.sockets.count) }
        return RelayRule.owners(
            claims: claims, peers: peers, isComplete: isFound && !hasHiddenClients, server: key.pid)
    }

    /// The process as the rule knows it, with no app if it is not identified or has exited.
    private func relayProcess(_ process: ProcessKey) -> RelayProcess {
        let app = apps.find(process)?.app
        let ownPid = (try? apps.reader.ownPid(process.pid)) ?? process.pid
        return RelayProcess(process, apps.reader.isThere(process) ? app : nil, ownPid: ownPid)
    }

    // MARK: The server's side

    private struct Ends {
        /// Whether a local socket was bound by the server.
        var isListening = false
        /// The sockets at the other ends.
        var peers: Set<UInt32> = []
        /// The server's own ends of what may be connections from other network namespaces.
        var elsewhere: Set<UInt32> = []
        /// Whether the server has clients that came over TCP.
        var hasRemoteClients = false
    }

    /// A bound socket with a peer is one that was accepted: it has the address of its listener. The server's own
    /// connections are not bound. A client in another network namespace, such as a sandbox without network, gives the
    /// accepted socket its own, so that the kernel does not report that one here.
    private func ends() throws(UnknownProcess) -> Ends {
        var ends = Ends()
        var others: Set<UInt32> = []
        var problem: UnknownProcess?
        _ = try apps.reader.forEachSocket(of: key.pid) { socket in
            do throws(UnixSockets.Refusal) {
                let found = try sockets.find(socket)
                guard !found.address.isEmpty else { return true }
                ends.isListening = true
                if found.peer != 0 { ends.peers.insert(found.peer) }
            } catch {
                if case .unsupported = error { others.insert(socket) } else { problem = RelayServer.unread }
            }
            return problem == nil
        }
        if let problem { throw problem }
        if !others.isEmpty {
            let found = try apps.reader.internetSockets(key.pid, among: others)
            ends.elsewhere = found.others
            ends.hasRemoteClients = found.hasAccepted
        }
        return ends
    }

    private static let unread = UnknownProcess(reason: "the kernel did not report its sockets")

    // MARK: The other side

    /// Finds the process that holds each socket: first among those that the clients claim to be, then among all.
    /// Returns false if one was not found.
    private func findProcesses(of inodes: Set<UInt32>, claims: Set<Int32>) -> Bool {
        processes = processes.filter {
            inodes.contains($0.key) && apps.reader.isThere($0.value) && has($0.value, $0.key)
        }
        var budget = RelayServer.mostDescriptors
        for pid in claims.sorted() { search(pid, inodes, &budget) }
        guard processes.count < inodes.count else { return true }
        try? apps.reader.forEachProcess { pid in
            if pid != key.pid { search(pid, inodes, &budget) }
            return budget > 0 && processes.count < inodes.count
        }
        return processes.count == inodes.count
    }

    private func has(_ process: ProcessKey, _ inode: UInt32) -> Bool {
        var isHeld = false
        _ = try? apps.reader.forEachSocket(of: process.pid) { socket in
            isHeld = socket == inode
            return !isHeld
        }
        return isHeld
    }

    private func search(_ pid: Int32, _ inodes: Set<UInt32>, _ budget: inout Int) {
        guard pid > 0, let process = try? apps.reader.key(pid) else { return }
        _ = try? apps.reader.forEachSocket(of: pid, budget: &budget) { socket in
            if inodes.contains(socket) { processes[socket] = process }
            return true
        }
    }
}
