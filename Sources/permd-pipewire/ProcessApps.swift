// Which app each process is, and whether it is a media service.

import DBus
import Glibc
import PermissionModel
import ProcessIdentity
import System

@LoopActor
final class ProcessApps {
    struct Found: Sendable {
        let app: AppID
        /// Nil for other programs, and in a sandbox.
        let mediaService: MediaService?
        /// Whether it is xdg-desktop-portal. Its own connections are the session's; those for apps are the apps'.
        let isPortal: Bool

        /// Whether it is not asked about itself.
        var isOfSession: Bool { mediaService != nil || isPortal }

        /// - Parameter executable: Its executable if that is the system's and it is outside any sandbox.
        init(app: AppID, executable: [UInt8]?) {
            self.app = app
            mediaService = executable.flatMap(MediaService.init(systemExecutable:))
            isPortal = executable.map(Folders.fileName) == "xdg-desktop-portal"
        }
    }

    /// Milliseconds after which a process that could not be identified is tried again.
    private static let pause: Int64 = 400

    /// How many processes are remembered before those that have exited are forgotten.
    private static let leastRemembered = 256

    private let processes = ProcessIdentifier(worker: Worker())
    private var known: [ProcessKey: Found] = [:]
    private var remembered = ProcessApps.leastRemembered
    private var pending: Set<ProcessKey> = []
    /// When processes could not be identified.
    private var failures: [ProcessKey: Int64] = [:]
    /// The process that a caller of ``find(_:)`` gets the answer about.
    private var finding: ProcessKey?
    private let onFound: @LoopActor (ProcessKey) -> Void

    /// - Parameter onFound: Called when a process was identified later, or could not be.
    init(onFound: @escaping @LoopActor (ProcessKey) -> Void) { self.onFound = onFound }

    var reader: ProcessReader { processes.identity.reader }

    /// Whether a process is being identified.
    var isSearching: Bool { !pending.isEmpty }

    func isSearching(_ process: ProcessKey) -> Bool { pending.contains(process) }

    func isKnown(_ process: ProcessKey) -> Bool { known[process] != nil }

    /// Nil if it is not known yet, or cannot be identified. Then a later call tries again.
    func find(_ process: ProcessKey) -> Found? {
        if let found = known[process] { return found }
        let now = Loop.uptimeMilliseconds()
        failures = failures.filter { now < $0.value + ProcessApps.pause }
        guard failures[process] == nil else { return nil }
        let pidfd = UnixFD(owning: Pidfd.open(process.pid))
        guard pidfd.raw >= 0, reader.isThere(process), pending.insert(process).inserted else { return nil }
        finding = process
        defer { finding = nil }
        processes.identify(process.pid, under: pidfd) { [weak self] result in
            guard let self else { return }
            pending.remove(process)
            if case .success(let found) = result, found.key == process {
                remember(found)
            } else {
                failures[process] = Loop.uptimeMilliseconds()
            }
            if finding != process { onFound(process) }
        }
        return known[process]
    }

    private func remember(_ process: IdentifiedProcess) {
        if known.count >= remembered {
            known = known.filter { reader.isThere($0.key) }
            remembered = max(ProcessApps.leastRemembered, 2 * known.count)
        }
        known[process.key] = Found(
            app: process.app,
            executable: process.app.isSandboxed ? nil : reader.systemExecutable(process.key.pid))
    }
}
