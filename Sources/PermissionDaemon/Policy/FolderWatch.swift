// Watches folders for changes (inotify(7)), and reports when it cannot.

import CLinux
import DBus
import Glibc
import System

@LoopActor
final class FolderWatch {
    /// Why changes may go unnoticed; nil while all folders are watched.
    private(set) var problem: PolicyProblem?

    private var inotify: Inotify?
    private let onEvents: @LoopActor ([String]) -> Void

    /// - Parameter onEvents: called with the names of what has changed; an empty one means the folder or everything.
    init(onEvents: @escaping @LoopActor ([String]) -> Void) { self.onEvents = onEvents }

    isolated deinit { inotify?.close() }

    /// Watches these folders too. Folders that are already watched stay watched; those that failed are retried.
    func watch(_ folders: Set<String>) {
        problem = nil
        inotify = inotify ?? Inotify { [weak self] in self?.read() }
        guard let inotify else { return fail(folders.min() ?? "", errno) }
        let events = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_ATTRIB
        for folder in folders.sorted()
        where inotify.watch(folder, UInt32(events) | UInt32(IN_ONLYDIR)) < 0 { fail(folder, errno) }
    }

    private func fail(_ folder: String, _ code: Int32) {
        guard problem == nil else { return }
        problem = PolicyProblem(
            file: folder, line: 0,
            message:
                "the folder cannot be watched: \(Inotify.reason(code)); after a change, run: systemctl --user reload permd"
        )
    }

    private func read() {
        var names: [String] = []
        inotify?.read { _, _, name in names.append(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)) }
        if !names.isEmpty { onEvents(names) }
    }
}
