// Which process is behind each client of a sound server that connects to PipeWire for others (pipewire-pulse). PipeWire
// sees the server's process for all of them.
//
// The kernel says how many connections to the server each process holds, and each client says which process it is. That
// counts if the process is named exactly as often as it is connected. A sandboxed game, a recorder and an editor that
// hold one connection each:
//
//     the clients say                    identified      because
//     game, recorder, editor             all three       each is named as often as it is connected
//     recorder, recorder, editor         none            nobody says to be the game, so any of them may be it
//     game, recorder, recorder, editor   game, editor    the recorder is named twice
//
// There may be more clients than connections: the server keeps a client whose connection was closed until its sound has
// ended, and PipeWire may notice its end late. Such a one may have been sandboxed, whatever it says. Where processes of
// several sandboxes know themselves by the same ID, what they say of their apps is counted in the same way.

package import PermissionModel

/// A process that may hold connections to the server.
package struct RelayProcess: Sendable, Equatable {
    package let key: ProcessKey
    /// Nil if it cannot be identified.
    package let app: AppID?
    /// The ID that the process knows itself by, which in a sandbox is another one.
    package let ownPid: Int32

    package init(_ key: ProcessKey, _ app: AppID?, ownPid: Int32) {
        self.key = key
        self.app = app
        self.ownPid = ownPid
    }

    var mayBeSandboxed: Bool { app?.isSandboxed ?? true }
}

/// Connections to the server.
package struct RelayPeer: Sendable, Equatable {
    /// The process that holds them, or several of which any may hold them.
    package let processes: [RelayProcess]
    package let connections: Int

    package init(_ processes: [RelayProcess], connections: Int) {
        self.processes = processes
        self.connections = connections
    }

    var mayBeSandboxed: Bool { processes.contains { $0.mayBeSandboxed } }

    /// The one that a claim means, if they are outside sandboxes.
    func process(_ claim: Claim) -> RelayProcess? { processes.first { $0.ownPid == claim.pid } }
}

package enum RelayRule {
    /// Returns the owner of each client.
    ///
    /// - Parameters:
    ///   - claims: What each client claims to be.
    ///   - peers: All connections to the server.
    ///   - isComplete: Whether the process at the other end of every connection is among the peers.
    ///   - server: The server's own process, whose own clients are media services.
    package static func owners(
        claims: [ObjectID: Claim], peers: [RelayPeer], isComplete: Bool, server: Int32
    ) -> [ObjectID: Owner] {
        let sandboxed = groups(peers.filter(\.mayBeSandboxed))
        let outside = peers.filter { !$0.mayBeSandboxed }
        guard isComplete, sandboxed.allSatisfy({ $0.isBalanced(claims.values) }) else {
            let possible = isComplete ? sandboxed.flatMap(\.processes) : []
            return claims.mapValues { claim in
                let isElsewhere = outside.contains { $0.process(claim) != nil } || claim.pid == server
                return isElsewhere ? .unknown : only(possible)
            }
        }
        let inside = sandboxed.flatMap { $0.split(claims.values) }
        return claims.mapValues { claim in
            if claim.pid == server, !claim.isForClient, sandboxed.isEmpty { return .session }
            if let group = inside.first(where: { $0.contains(claim) }) { return group.owner }
            // Clients of a sandboxed program may say so, too, also if none is connected any more.
            guard let peer = outside.first(where: { $0.process(claim) != nil }),
                claims.values.count(where: { peer.process($0) != nil }) == peer.connections,
                let process = peer.process(claim), let app = process.app
            else { return .unknown }
            return .process(process.key, app)
        }
    }

    /// Peers that a claim can mean.
    private struct Group {
        let peers: [RelayPeer]
        /// Nil unless only claims of this app mean them.
        let app: AppID?
        let processes: [RelayProcess]
        let ownPids: Set<Int32>

        init(_ peers: [RelayPeer], app: AppID? = nil) {
            self.peers = peers
            self.app = app
            processes = peers.reduce(into: []) { all, peer in all += peer.processes.filter { !all.contains($0) } }
            ownPids = Set(processes.map(\.ownPid))
        }

        /// The owner of a client that means these peers.
        var owner: Owner {
            guard processes.count == 1, let app = processes[0].app else { return RelayRule.only(processes) }
            return .process(processes[0].key, app)
        }

        func contains(_ claim: Claim) -> Bool {
            guard let pid = claim.pid, ownPids.contains(pid) else { return false }
            return app == nil || app == claim.app
        }

        /// Whether as many clients claim to be these peers as they have connections.
        func isBalanced(_ claims: some Sequence<Claim>) -> Bool {
            claims.count(where: contains) == peers.reduce(0) { $0 + $1.connections }
        }

        /// A group for each app if all clients' claims agree with that; otherwise this one.
        func split(_ claims: some Sequence<Claim>) -> [Group] {
            let byApp = Dictionary(grouping: peers) { peer in
                peer.processes.allSatisfy { $0.app == peer.processes[0].app } ? peer.processes[0].app : nil
            }
            let parts = byApp.map { Group($1, app: $0) }
            return parts.allSatisfy { $0.app != nil && $0.isBalanced(claims) } ? parts : [self]
        }
    }

    /// Two sandboxes may use the same process IDs, so what their clients claim is counted together.
    private static func groups(_ peers: [RelayPeer]) -> [Group] {
        var groups: [Group] = []
        for peer in peers {
            let ownPids = Set(peer.processes.map(\.ownPid))
            let isSame = groups.map { !$0.ownPids.isDisjoint(with: ownPids) }
            let merged = zip(groups, isSame).filter(\.1).flatMap(\.0.peers)
            groups = zip(groups, isSame).filter { !$1 }.map(\.0) + [Group(merged + [peer])]
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
}
