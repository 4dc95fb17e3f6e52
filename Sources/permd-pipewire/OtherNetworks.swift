// The processes behind a sound server's connections from other network namespaces, such as those of sandboxes without
// network. The kernel does not say which process holds such a connection, only in which namespace it was made.

import CaptureRules
import Glibc
import PermissionModel
import ProcessIdentity

struct OtherNetworks {
    /// The most bytes of tables that one search reads: 110,000 sockets. If more are needed, the clients stay unknown.
    private static let mostBytes = 16 << 20

    private let identity: AppIdentity

    init(_ identity: AppIdentity) { self.identity = identity }

    private var reader: ProcessReader { identity.reader }

    /// The connections, by the sockets that the server holds, and the processes that may hold their other ends. Nil if
    /// those of one were not found.
    func peers(_ inodes: Set<UInt32>) -> [RelayPeer]? {
        var budget = OtherNetworks.mostBytes
        var found: [Set<UInt32>: [RelayProcess]] = [:]
        for candidates in candidates() {
            guard let sockets = sockets(candidates, &budget) else { continue }
            let here = sockets.intersection(inodes)
            if !here.isEmpty { found[here, default: []] += processes(candidates, holding: sockets) }
        }
        guard found.keys.reduce(into: Set(), { $0.formUnion($1) }) == inodes,
            found.values.allSatisfy({ !$0.isEmpty })
        else { return nil }
        return found.map { RelayPeer($1, connections: $0.count) }
    }

    /// All processes in other network namespaces, by namespace. One of this user that does not let others read where it
    /// is counts as being in one of its own.
    private func candidates() -> [[ProcessKey]] {
        guard let own = try? reader.ownNetwork() else { return [] }
        var byNetwork: [[UInt8]: [ProcessKey]] = [:]
        var unread: [[ProcessKey]] = []
        try? reader.forEachProcess { pid in
            guard let start = try? reader.startTime(pid) else { return true }
            let process = ProcessKey(pid: pid, startTime: start)
            if let network = try? reader.network(pid) {
                if network != own { byNetwork[network, default: []].append(process) }
            } else if reader.user(pid) == getuid() {
                unread.append([process])
            }
            return true
        }
        return byNetwork.values + unread
    }

    /// The sockets in the namespace that these processes are in, as one of them has it that has not exited since.
    private func sockets(_ processes: [ProcessKey], _ budget: inout Int) -> Set<UInt32>? {
        for process in processes {
            let sockets = try? reader.unixSockets(inNetworkOf: process.pid, budget: &budget)
            if let sockets, identity.isAlive(process) { return sockets }
        }
        return nil
    }

    /// Those that hold any of these sockets, or whose descriptors cannot be read.
    private func processes(_ processes: [ProcessKey], holding sockets: Set<UInt32>) -> [RelayProcess] {
        processes.filter { process in
            var isHolder = false
            let isRead = try? reader.forEachSocket(of: process.pid, from: 0) { socket in
                isHolder = sockets.contains(socket.inode)
                return !isHolder
            }
            return isHolder || isRead == nil
        }
        .map(identity.relayProcess)
    }
}

extension AppIdentity {
    /// The process as the rule knows it, with no app if it cannot be identified or has exited.
    func relayProcess(_ process: ProcessKey) -> RelayProcess {
        let app = try? app(of: process.pid)
        let ownPid = (try? reader.ownPid(process.pid)) ?? process.pid
        return RelayProcess(process, isAlive(process) ? app : nil, ownPid: ownPid)
    }

    func isAlive(_ process: ProcessKey) -> Bool { (try? reader.startTime(process.pid)) == process.startTime }
}
