// Identifies the processes that have devices open, and reports when they exit.

import DBus
import Glibc
import PermissionModel
import ProcessIdentity

@LoopActor
final class HolderIdentities {
    struct Identity: Sendable, Hashable {
        /// Nil if the process may not be inspected.
        var app: AppID?
        var isServer = false
    }

    /// The most processes that are watched for their exit, each by a descriptor. The others end their uses by closing
    /// the node, as the kernel does for them when they exit.
    private static let maximumWatched = 256

    private let identity: AppIdentity
    private let processes: any ProcessLiveness
    private var known: [ProcessKey: Identity] = [:]
    private var watched: Set<ProcessKey> = []
    var onExit: (@LoopActor (ProcessKey) -> Void)?

    init(_ reader: ProcessReader, _ processes: any ProcessLiveness) {
        identity = AppIdentity(reader: reader)
        self.processes = processes
        processes.onExit = { [weak self] process in
            self?.watched.remove(process)
            self?.onExit?(process)
        }
    }

    subscript(process: ProcessKey) -> Identity? { known[process] }

    func identify(_ process: ProcessKey) {
        guard known[process] == nil else { return }
        known[process] = look(process)
        if watched.count < HolderIdentities.maximumWatched, processes.isAlive(process) { watched.insert(process) }
    }

    /// Forgets all others.
    func keep(_ processes: Set<ProcessKey>) {
        known = known.filter { processes.contains($0.key) }
        for process in watched where !processes.contains(process) {
            self.processes.forget(process)
            watched.remove(process)
        }
    }

    /// Reads /proc under a pidfd, so that no other process can get the ID meanwhile.
    private func look(_ process: ProcessKey) -> Identity {
        let opened = Pidfd.open(process.pid)
        guard opened >= 0 else { return Identity() }
        let pidfd = UnixFD(owning: opened)
        guard let found = try? identity.process(process.pid, under: pidfd.raw), found.key == process else {
            return Identity()
        }
        let app = found.app
        let isServer = SoundServers.isOne(app) && identity.reader.executableOwner(process.pid) == 0
        return Pidfd.isAlive(pidfd.raw) ? Identity(app: app, isServer: isServer) : Identity()
    }
}

/// Programs that record for others.
enum SoundServers {
    private static let names: Set<String> = [
        "pipewire", "pipewire-pulse", "wireplumber", "pulseaudio", "jackd", "jackdbus",
    ]

    /// Whether the app has the name of one. Only an executable that belongs to root is one: any program can have a name.
    static func isOne(_ app: AppID) -> Bool {
        guard app.kind == .exe, let name = app.name.split(separator: "/").last else { return false }
        return names.contains(String(name))
    }
}
