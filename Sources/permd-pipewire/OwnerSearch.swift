// When it is looked for who is behind the clients of PipeWire: at once, and again while that is unknown.

import CaptureRules
import DBus
import Logging

@LoopActor
final class OwnerSearch {
    /// Milliseconds after which unknown clients are looked for again: a sound server's connection and its client do not
    /// appear at the same moment, and what says which app a process is may not be readable at once.
    private static let retryDelays: [Int64] = [20, 100, 500, 2000]

    /// Milliseconds between searches for clients of a sound server that do not record. They see sources when they are known,
    /// and what their modules do is theirs. Hundreds may connect at once, and each search reads all sockets of the server.
    private static let pause: Int64 = 200

    private(set) var owners: ClientOwners
    private let log: Logger
    private let onFound: @LoopActor () -> Void
    /// How often recorders that are still unknown were looked for.
    private var searches: [ObjectID: Int] = [:]
    private var retry: LoopTimer?
    private var pausing: LoopTimer?
    /// Said once, because any program may connect again and again.
    private var hasLoggedHiddenClients = false
    private var hasLoggedModules = false

    /// - Parameter onFound: Called when more may be known.
    init(_ log: Logger, onFound: @escaping @LoopActor () -> Void) {
        self.log = log
        self.onFound = onFound
        owners = ClientOwners(onFound: onFound)
    }

    /// PipeWire has gone, with all clients.
    func reset() {
        owners = ClientOwners(onFound: onFound)
        searches = [:]
    }

    /// Clients of a sound server are looked for at once if they record, and all together if they only could.
    func find(_ recorders: [Recorder]) {
        let unknown = owners.find(Set(recorders.map(\.holder)))
        findAgain(unknown)
        explain(unknown)
        findUnsought()
    }

    /// A program that has a module loaded leaves at once.
    func findUnsought() {
        guard owners.hasUnsought, pausing == nil else { return }
        owners.findAll()
        pausing = Loop.shared.after(milliseconds: OwnerSearch.pause) { [weak self] in
            self?.pausing = nil
            self?.onFound()
        }
    }

    private func findAgain(_ unknown: Set<ObjectID>) {
        let isNew = !unknown.isSubset(of: searches.keys)
        searches = Dictionary(uniqueKeysWithValues: unknown.map { ($0, searches[$0, default: 0]) })
        guard isNew || retry == nil else { return }
        retry?.cancel()
        retry = nil
        guard let fewest = searches.values.min(), fewest < OwnerSearch.retryDelays.count else { return }
        for client in unknown { searches[client, default: 0] += 1 }
        retry = Loop.shared.after(milliseconds: OwnerSearch.retryDelays[fewest]) { [weak self] in
            self?.retry = nil
            self?.onFound()
        }
    }

    private func explain(_ unknown: Set<ObjectID>) {
        if !hasLoggedModules, unknown.contains(where: owners.isModule) {
            hasLoggedModules = true
            log.notice(
                "A module of the sound server gets silence, because a sandboxed app may have loaded it. Load it again, or list it in pipewire-pulse.conf(5)"
            )
        }
        if owners.hasHiddenClients, !hasLoggedHiddenClients, unknown.contains(where: owners.isRelayed) {
            hasLoggedHiddenClients = true
            log.notice(
                "A program is connected to the PulseAudio server over TCP, or its process cannot be found. Others cannot be told apart from it, so they get silence when they record there until it has left"
            )
        }
    }
}
