// Which process is behind each client of a sound server that connects to PipeWire for others (pipewire-pulse). PipeWire
// sees the server's process for all of them.
//
// Two things are known: how many connections to the server each process holds, from the kernel, and which process each
// client claims to be, which may be a lie. A process that lies leaves one of its own connections without a client that
// claims it. So the claims count only if every sandboxed process is claimed exactly as often as it is connected.

public import PermissionModel

/// A process that may hold connections to the server.
public struct RelayProcess: Sendable, Equatable {
    public let key: ProcessKey
    /// Nil if it cannot be identified.
    public let app: AppID?
    /// The ID that the process knows itself by, which in a sandbox is another one.
    public let ownPid: Int32

    public init(_ key: ProcessKey, _ app: AppID?, ownPid: Int32) {
        self.key = key
        self.app = app
        self.ownPid = ownPid
    }

    var mayBeSandboxed: Bool { app?.isSandboxed ?? true }
}

/// Connections to the server.
public struct RelayPeer: Sendable, Equatable {
    /// The process that holds them, or several of which any may hold them.
    public let processes: [RelayProcess]
    public let connections: Int

    public init(_ processes: [RelayProcess], connections: Int) {
        self.processes = processes
        self.connections = connections
    }

    var mayBeSandboxed: Bool { processes.contains { $0.mayBeSandboxed } }
}

public enum RelayRule {
    /// Returns the owner of each client.
    ///
    /// - Parameters:
    ///   - claims: The process ID that each client claims.
    ///   - peers: All connections to the server.
    ///   - isComplete: Whether the process at the other end of every connection is among the peers.
    ///   - server: The server's own process, whose own clients are parts of the session.
    public static func owners(
        claims: [ObjectID: Int32?], peers: [RelayPeer], isComplete: Bool, server: Int32
    ) -> [ObjectID: Owner] {
        let sandboxed = groups(peers.filter(\.mayBeSandboxed))
        let outside = peers.filter { !$0.mayBeSandboxed }.flatMap(\.processes)
        let isBalanced = sandboxed.allSatisfy { group in
            claims.values.count { $0.map(group.ownPids.contains) ?? false } == group.connections
        }
        guard isComplete, isBalanced else {
            let possible = isComplete ? sandboxed.flatMap(\.processes) : []
            return claims.mapValues { claim in
                let isElsewhere = outside.contains { $0.key.pid == claim } || claim == server
                return isElsewhere ? .unknown : only(possible)
            }
        }
        return claims.mapValues { owner($0, sandboxed, outside, server) }
    }

    /// Peers that a process ID can mean. Two sandboxes may use the same IDs, so what they claim is counted together.
    private struct Group {
        var processes: [RelayProcess] = []
        var connections = 0

        var ownPids: Set<Int32> { Set(processes.map(\.ownPid)) }
    }

    private static func groups(_ peers: [RelayPeer]) -> [Group] {
        var groups: [Group] = []
        for peer in peers {
            var group = Group(processes: peer.processes, connections: peer.connections)
            let ownPids = group.ownPids
            groups.removeAll { other in
                guard !other.ownPids.isDisjoint(with: ownPids) else { return false }
                group.processes += other.processes.filter { !group.processes.contains($0) }
                group.connections += other.connections
                return true
            }
            groups.append(group)
        }
        return groups
    }

    /// The owner of a client that may belong to each of these processes. With a single app among them, its rights are
    /// the least that the client can have.
    private static func only(_ processes: [RelayProcess]) -> Owner {
        let apps = Set(processes.map(\.app))
        guard apps.count == 1, let app = apps.first ?? nil else { return .unknown }
        return .app(app)
    }

    private static func owner(
        _ claim: Int32?, _ sandboxed: [Group], _ outside: [RelayProcess], _ server: Int32
    ) -> Owner {
        guard let claim else { return .unsandboxed }
        if let group = sandboxed.first(where: { $0.ownPids.contains(claim) }) {
            guard group.processes.count == 1, let app = group.processes[0].app else { return only(group.processes) }
            return .process(group.processes[0].key, app)
        }
        if claim == server { return .session }
        guard let process = outside.first(where: { $0.key.pid == claim }), let app = process.app else {
            return .unsandboxed
        }
        return .process(process.key, app)
    }
}
