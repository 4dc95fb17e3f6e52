// Keeps two permds from one store: each has all decisions in memory, so one would go on granting what the other refuses.

import DBus
import Glibc

enum StoreLock {
    enum Outcome: Sendable {
        /// The store is this permd's as long as the descriptor is open.
        case taken(UnixFD)
        /// Another permd has it.
        case held
        /// The folder cannot be opened, or its file system has no locks.
        case impossible
    }

    /// Locks a folder (flock(2)), which is made if it is missing. May block for as long as the disk does.
    static func take(_ paths: StorePaths) -> Outcome {
        guard StoreOpening.prepareFolder(of: paths.stateFile) == nil else { return .impossible }
        let folder = UnixFD(owning: open(paths.state, O_RDONLY | O_DIRECTORY | O_CLOEXEC))
        guard folder.raw >= 0 else { return .impossible }
        if flock(folder.raw, LOCK_EX | LOCK_NB) == 0 { return .taken(folder) }
        return errno == EWOULDBLOCK ? .held : .impossible
    }
}
