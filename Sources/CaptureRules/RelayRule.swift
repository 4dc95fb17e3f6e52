// Which process is behind each client of a sound server that connects to PipeWire for others (pipewire-pulse). PipeWire
// sees the server's process for all of them.
//
// Two things are known: how many connections to the server each process holds, from the kernel, and which process each
// client claims to be, which may be a lie. A process that lies leaves one of its own connections without a client that
// claims it. So the claims count only if every sandboxed process is claimed exactly as often as it is connected.

public import PermissionModel

/// A process that is connected to the server.
public struct RelayPeer: Sendable, Equatable {
    public let process: ProcessKey
    /// Nil if it cannot be identified.
    public let app: AppID?
    /// The ID that the process knows itself by, which in a sandbox is another one.
    public let ownPid: Int32
    public let connections: Int

    public init(process: ProcessKey, app: AppID?, ownPid: Int32, connections: Int) {
        self.process = process
        self.app = app
        self.ownPid = ownPid
        self.connections = connections
    }

    var mayBeSandboxed: Bool { app?.isSandboxed ?? true }
}

public enum RelayRule {
    /// Returns the owner of each client.
    ///
    /// - Parameters:
    ///   - claims: The process ID that each client claims.
    ///   - peers: All processes that are connected to the server.
    ///   - isComplete: Whether the process at the other end of every connection is among the peers.
    ///   - server: The server's own process, whose own clients are parts of the session.
    public static func owners(
        claims: [ObjectID: Int32?], peers: [RelayPeer], isComplete: Bool, server: Int32
    ) -> [ObjectID: Owner] {
        let sandboxed = peers.filter(\.mayBeSandboxed)
        let counts = claims.values.reduce(into: [Int32: Int]()) { if let claim = $1 { $0[claim, default: 0] += 1 } }
        // Two sandboxes may use the same process IDs, so they are counted together.
        let connections = sandboxed.reduce(into: [Int32: Int]()) { $0[$1.ownPid, default: 0] += $1.connections }
        let isBalanced = isComplete && connections.allSatisfy { counts[$0.key] == $0.value }
        guard isComplete, isBalanced || sandboxed.isEmpty else {
            return claims.mapValues { claim in
                let isElsewhere = peers.contains { $0.process.pid == claim && !$0.mayBeSandboxed } || claim == server
                return isElsewhere ? .unknown : only(sandboxed, isComplete)
            }
        }
        return claims.mapValues { owner($0, sandboxed, peers, server) }
    }

    /// The owner of a client that may belong to each of these processes. With a single app among them, its rights are
    /// the least that the client can have.
    private static func only(_ sandboxed: [RelayPeer], _ isComplete: Bool) -> Owner {
        let apps = Set(sandboxed.map(\.app))
        guard isComplete, apps.count == 1, let app = apps.first ?? nil else { return .unknown }
        return .app(app)
    }

    private static func owner(
        _ claim: Int32?, _ sandboxed: [RelayPeer], _ peers: [RelayPeer], _ server: Int32
    ) -> Owner {
        guard let claim else { return .unsandboxed }
        let possible = sandboxed.filter { $0.ownPid == claim }
        if !possible.isEmpty {
            if possible.count == 1, let app = possible[0].app { return .process(possible[0].process, app) }
            return only(possible, true)
        }
        if claim == server { return .session }
        guard let peer = peers.first(where: { $0.process.pid == claim }), let app = peer.app else {
            return .unsandboxed
        }
        return .process(peer.process, app)
    }
}
