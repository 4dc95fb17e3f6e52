// Who is behind each client of PipeWire, and each node that outlives its maker.

import CaptureRules
import DBus
import Glibc
import PermissionModel
import ProcessIdentity

@LoopActor
final class ClientOwners {
    /// For how many programs that may be the maker of an object the owner is looked for. Only a flood has more.
    nonisolated private static let mostMakers = 16

    private final class Entry {
        /// Nil until its properties have arrived.
        var client: Client?
        let process: ProcessKey?
        /// Kept once it is certain: a connection does not change hands.
        var owner: Owner?
        var isRelayed = false
        var isPortal = false
        let origin: Origin

        init(_ process: ProcessKey?, _ origin: Origin) { (self.process, self.origin) = (process, origin) }

        /// Whether what it makes may be a sandboxed app's.
        var mayBeSandboxed: Bool { known?.isSandboxed ?? true }

        var known: Owner? { isPortal ? client?.portal?.owner ?? owner : owner }
    }

    /// Who may have made an object that does not say so: those who were connected when it appeared or shortly before, other
    /// than programs that are known to be outside sandboxes.
    private final class Origin {
        /// Nil if that is not known.
        var makers: [Entry]?
        /// Who made it if that is none of these.
        var other: Owner

        init(_ makers: [Entry]?, other: Owner) {
            self.makers = makers.flatMap { $0.count > ClientOwners.mostMakers ? nil : $0 }
            self.other = other
        }

        var owner: Owner {
            guard let makers else { return .unknown }
            return makers.isEmpty ? other : MakerRule.owner(makers.map(\.known))
        }
    }

    private let apps: ProcessApps
    private let sockets = try? UnixSockets()
    private var entries: [ObjectID: Entry] = [:]
    /// Who has left and may be sandboxed.
    private var departed = DepartedClients<Entry>(most: mostMakers)
    weak var connection: PipeWireConnection?
    private var nodes: [ObjectID: Origin] = [:]
    /// The beginning of the names of PipeWire's sockets: there is one more for managers.
    var serverName = Array("pipewire-".utf8)
    private var servers: [ProcessKey: RelayServer] = [:]

    /// - Parameter onFound: Called when a process was identified that was not at first.
    init(onFound: @escaping @LoopActor () -> Void) {
        weak var me: ClientOwners?
        apps = ProcessApps { process in
            me?.found(process)
            onFound()
        }
        me = self
    }

    private var reader: ProcessReader { apps.reader }

    /// Whether the kernel tells who is connected to whom. Nobody can be identified otherwise.
    var canIdentify: Bool { sockets?.areReported() == true }

    /// Whether a process is being identified.
    var isSearching: Bool { apps.isSearching }

    /// A client has connected. The registry says which process it is, its other properties arrive later.
    func added(_ id: ObjectID, process: Int32?) {
        if process == getpid(), departed.isAwaiting {
            departed.appeared()
            connection?.endSecondConnection()
            connectAgainIfNeeded()
        }
        let process = process.flatMap { try? reader.key($0) }
        let entry = Entry(process, Origin(makers { $0.process == process }, other: .session))
        entries[id] = entry
        identify(entry)
    }

    /// A node has appeared, which may outlive its maker.
    func addedNode(_ id: ObjectID) {
        nodes[id] = Origin(makers { !$0.isRelayed || isOfServer($0) }, other: .unsandboxed)
    }

    /// Nil if some of them are not known.
    private func makers(_ canMake: (Entry) -> Bool) -> [Entry]? {
        guard let departed = departed.all else { return nil }
        return (entries.values + departed).filter { $0.mayBeSandboxed && canMake($0) }
    }

    private func depart(_ entry: Entry) {
        guard entry.mayBeSandboxed, entry.process?.pid != getpid() else { return }
        departed.add(entry)
        connectAgainIfNeeded()
    }

    private func connectAgainIfNeeded() {
        if departed.needsConnection, connection?.connectAgain() == true { departed.connected() }
    }

    func update(_ id: ObjectID, _ client: Client) {
        guard let entry = entries[id] else { return }
        let isNew = entry.client?.claim != client.claim
        // The first word is the portal's; the app that gets the connection may change it later.
        let portal = entry.client?.portal
        entry.client = client
        if let portal { entry.client?.portal = portal }
        if isNew, entry.isRelayed { server(of: entry)?.isChanged = true }
    }

    func remove(_ id: ObjectID) {
        nodes[id] = nil
        guard let entry = entries.removeValue(forKey: id) else { return }
        entry.origin.makers = []
        if entry.isRelayed { server(of: entry)?.isChanged = true }
        depart(entry)
    }

    /// Of what was there at the beginning, some may have been made by apps that have left.
    ///
    /// - Parameters:
    ///   - isFirst: Whether this program has not run before: modules of sound servers are the configuration's then.
    ///   - couldRecord: Whether an object could record before, or is of PipeWire's configuration.
    func listed(isFirst: Bool, couldRecord: (ObjectID) -> Bool) {
        for (id, entry) in entries where !isFirst && !couldRecord(id) {
            entry.origin.makers = nil
            // Until now it was taken for one that a client has made who is still there.
            if entry.isRelayed, isOfServer(entry) { entry.owner = nil }
        }
        for (id, origin) in nodes { if couldRecord(id) { origin.other = .session } else { origin.makers = nil } }
    }

    /// A node belongs to its client.
    func forgetNode(_ id: ObjectID) { nodes[id] = nil }

    func isRelayed(_ id: ObjectID) -> Bool { entries[id]?.isRelayed == true }

    /// Nil if a client is not known yet, or is a sound server's and was not looked for.
    func owner(_ id: ObjectID) -> Owner? { entries[id]?.known ?? nodes[id]?.owner }

    /// Whether a client is xdg-desktop-portal's, for the camera or not.
    func portal(_ id: ObjectID) -> Client.Portal? { entries[id].flatMap { $0.isPortal ? $0.client?.portal : nil } }

    func clients(of process: Int32) -> [ObjectID] { entries.filter { $0.value.process?.pid == process }.map(\.key) }

    // MARK: Clients of PipeWire

    private func identify(_ entry: Entry) {
        guard let key = entry.process else {
            entry.owner = .unknown
            return
        }
        guard let found = apps.find(key) else {
            entry.owner = apps.isSearching(key) ? nil : .unknown
            return
        }
        // PipeWire sees the clients of such a server as clients with the server's process.
        if found.mediaService == .server, let server = relay(key) {
            entry.isRelayed = true
            server.isChanged = true
            entry.owner = nil
        } else {
            entry.owner = native(key, found)
            entry.isPortal = entry.owner == .session && found.isPortal
        }
    }

    private func found(_ process: ProcessKey) {
        for entry in entries.values where entry.process == process { identify(entry) }
        // What is still unknown changes nothing: others would be looked for again and again.
        guard apps.isKnown(process) else { return }
        for server in servers.values where server.isRelay { server.isChanged = true }
    }

    private func native(_ key: ProcessKey, _ found: ProcessApps.Found) -> Owner {
        guard (try? isConnected(key.pid)) == true, reader.isThere(key) else { return .unknown }
        return key.pid == getpid() || found.isOfSession ? .session : .process(key, found.app)
    }

    /// Whether the process holds a socket to PipeWire. If the one that connected has exited, another may have its ID by
    /// now, which most likely does not. Portals pass the socket on, and stay connected themselves.
    ///
    /// The kernel cannot be asked about the sockets of another network namespace; a process there is in a sandbox.
    private func isConnected(_ pid: Int32) throws(UnknownProcess) -> Bool {
        guard let sockets, try reader.sharesNetwork(pid) else { return true }
        var isFound = false
        _ = try reader.forEachSocket(of: pid) { socket in
            guard let peer = try? sockets.find(socket).peer, peer != 0,
                let address = try? sockets.find(peer).address
            else { return true }
            isFound = (address.split(separator: UInt8(ascii: "/")).last ?? []).starts(with: serverName)
            return !isFound
        }
        return isFound
    }

    // MARK: Clients of sound servers

    private func relay(_ key: ProcessKey) -> RelayServer? {
        if let known = servers[key] { return known.isRelay ? known : nil }
        servers = servers.filter { reader.isThere($0.key) }
        guard let sockets else { return nil }
        let server = RelayServer(key, apps, sockets)
        servers[key] = server
        return server.isRelay ? server : nil
    }

    private func server(of entry: Entry) -> RelayServer? { entry.process.flatMap { servers[$0] } }

    /// Whether it is a sound server's own client, whose maker is not known.
    func isModule(_ id: ObjectID) -> Bool {
        entries[id].map { $0.isRelayed && $0.client != nil && isOfServer($0) && $0.owner == .unknown } ?? false
    }

    /// Whether it may be the server's own, as that of a module is.
    private func isOfServer(_ entry: Entry) -> Bool {
        entry.client.map { $0.claim.pid == entry.process?.pid && !$0.claim.isForClient } ?? true
    }

    /// Looks for the processes behind the clients, and the makers of the nodes, that `wanted` names, where that is not
    /// certain. Returns those that are not certain, and may be so later.
    @discardableResult
    func find(_ wanted: Set<ObjectID>) -> Set<ObjectID> {
        let open = wanted.flatMap { id in entries[id].map { [$0] } ?? nodes[id]?.makers ?? [] }
            .filter { !isSettled($0.owner) }
        for entry in open where !entry.isRelayed { identify(entry) }
        for process in Set(open.compactMap { $0.isRelayed ? $0.process : nil }) {
            guard let server = relay(process) else { continue }
            // What a client says it is arrives after it.
            let clients = entries.filter { $0.value.isRelayed && $0.value.process == process && $0.value.client != nil }
            let owners = server.owners(clients.compactMapValues(\.client?.claim))
            for (id, entry) in clients where !isSettled(entry.owner) {
                let owner = owners[id] ?? .unknown
                entry.owner = owner == .session ? entry.origin.owner : owner
            }
        }
        return wanted.filter { id in
            if let entry = entries[id] { return !isSettled(entry.owner) }
            return nodes[id].map { !isSettled($0.owner) } ?? false
        }
    }

    /// Whether clients of sound servers have appeared that were not looked for.
    var hasUnsought: Bool { servers.values.contains { $0.isRelay && $0.isChanged } }

    /// Whether clients of a sound server that cannot be found keep others from being known.
    var hasHiddenClients: Bool { servers.values.contains { $0.hasHiddenClients } }

    func findAll() {
        for server in servers.values { server.isChanged = false }
        find(Set(entries.keys))
    }

    private func isSettled(_ owner: Owner?) -> Bool {
        switch owner {
        case .process, .session, .unsandboxed: true
        case .app, .unknown, nil: false
        }
    }
}
