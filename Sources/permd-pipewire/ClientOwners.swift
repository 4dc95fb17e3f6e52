// Who is behind each client of PipeWire, from the kernel.

import CaptureRules
import DBus
import Glibc
import PermissionModel
import ProcessIdentity

@LoopActor
final class ClientOwners {
    /// Parts of the session, by the names of their executables. They are not asked about: they link, filter and open
    /// devices for others. Programs outside sandboxes can pretend to be each other, so the name is enough.
    private static let sessionParts: Set<String> = [
        "wireplumber", "pipewire-media-session", "pipewire", "pipewire-pulse", "pipewire-aes67", "pipewire-avb",
        "xdg-desktop-portal", "permd-pipewire",
    ]
    /// Sound servers, whose clients PipeWire sees as clients with the server's process.
    private static let relays: Set<String> = ["pipewire", "pipewire-pulse"]

    private struct Entry {
        var client: Client
        /// Kept once it is certain: a connection does not change hands.
        var owner: Owner?
        var isRelayed = false
        /// The process of a client of PipeWire, when the client was first seen. Another that gets its ID later is not
        /// the client's.
        var process: ProcessKey?
    }

    private let identity = AppIdentity()
    private let sockets = try? UnixSockets()
    private var entries: [ObjectID: Entry] = [:]
    /// The beginning of the names of PipeWire's sockets: there is one more for managers.
    var serverName = Array("pipewire-".utf8)
    private var servers: [ProcessKey: RelayServer] = [:]

    /// Whether the kernel tells who is connected to whom. Nobody can be identified otherwise.
    var canIdentify: Bool { sockets?.areReported() == true }

    /// The identity is taken when the client's properties arrive, and again for a client whose process was unknown.
    func update(_ id: ObjectID, _ client: Client) {
        if entries[id]?.client.process == client.process, entries[id]?.owner != nil {
            entries[id]?.client = client
            return
        }
        var entry = Entry(client: client)
        if let pid = client.process, let server = relay(pid) {
            entry.isRelayed = true
            server.isChanged = true
        } else {
            entry.process = client.process.flatMap { try? identity.reader.key($0) }
            entry.owner = native(entry.process)
        }
        entries[id] = entry
    }

    func remove(_ id: ObjectID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        if entry.isRelayed, let pid = entry.client.process { relay(pid)?.isChanged = true }
    }

    func isRelayed(_ id: ObjectID) -> Bool { entries[id]?.isRelayed == true }

    /// Nil if the client is not known yet, or is a sound server's and was not looked for.
    func owner(_ id: ObjectID) -> Owner? { entries[id]?.owner }

    // MARK: Clients of PipeWire

    private func native(_ key: ProcessKey?) -> Owner {
        guard let key else { return .unknown }
        let pid = key.pid
        let pidfd = Pidfd.open(pid)
        guard pidfd >= 0 else { return .unknown }
        defer { close(pidfd) }
        do throws(UnknownProcess) {
            let process = try identity.process(pid, under: pidfd)
            guard process.key == key else { return .unknown }
            let name = process.app.isSandboxed ? "" : try executableName(pid)
            guard try isConnected(pid), Pidfd.isAlive(pidfd) else { return .unknown }
            if ClientOwners.sessionParts.contains(name) { return .session }
            return .process(process.key, process.app)
        } catch {
            return .unknown
        }
    }

    /// Whether the process holds a socket to PipeWire. If the one that connected has exited, another may have its ID by
    /// now, which most likely does not. Portals pass the socket on, and stay connected themselves.
    ///
    /// The kernel cannot be asked about the sockets of another network namespace; a process there is in a sandbox.
    private func isConnected(_ pid: Int32) throws(UnknownProcess) -> Bool {
        guard let sockets, try identity.reader.sharesNetwork(pid) else { return true }
        var isFound = false
        _ = try identity.reader.forEachSocket(of: pid) { socket in
            guard let peer = try? sockets.find(socket.inode).peer, peer != 0,
                let address = try? sockets.find(peer).address
            else { return true }
            isFound = (address.split(separator: UInt8(ascii: "/")).last ?? []).starts(with: serverName)
            return !isFound
        }
        return isFound
    }

    private func executableName(_ pid: Int32) throws(UnknownProcess) -> String {
        let path = try identity.reader.executable(pid)
        return String(decoding: path.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
    }

    // MARK: Clients of sound servers

    private func relay(_ pid: Int32) -> RelayServer? {
        guard let key = try? identity.reader.key(pid) else { return nil }
        if let known = servers[key] { return known.isRelay ? known : nil }
        servers = servers.filter { identity.reader.isThere($0.key) }
        guard let sockets, let name = try? executableName(pid), ClientOwners.relays.contains(name),
            let app = try? identity.app(of: pid), !app.isSandboxed
        else { return nil }
        let server = RelayServer(key, identity, sockets)
        servers[key] = server
        return server.isRelay ? server : nil
    }

    /// Looks for the processes behind the clients that `wanted` names, where that is not certain. Returns those that are
    /// not certain, and may be so later.
    @discardableResult
    func find(_ wanted: Set<ObjectID>) -> Set<ObjectID> {
        let open = wanted.filter { !isSettled(owner($0)) }
        for id in open where !isRelayed(id) {
            let owner = native(entries[id]?.process)
            entries[id]?.owner = owner
        }
        for pid in Set(open.compactMap { isRelayed($0) ? entries[$0]?.client.process : nil }) {
            guard let server = relay(pid) else { continue }
            let ids = entries.keys.filter { entries[$0]!.isRelayed && entries[$0]!.client.process == pid }
            let claims = Dictionary(uniqueKeysWithValues: ids.map { ($0, entries[$0]!.client.claim) })
            let owners = server.owners(claims)
            for id in ids where !isSettled(entries[id]!.owner) {
                entries[id]?.owner = owners[id] ?? .unknown
            }
        }
        return open.filter { entries[$0] != nil && !isSettled(owner($0)) }
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
