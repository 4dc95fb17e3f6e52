// Watches folders for changes (inotify(7)), and reports when it cannot.

import CLinux
import DBus
import Glibc

@LoopActor
final class FolderWatch {
    /// Why changes may go unnoticed; nil while all folders are watched.
    private(set) var problem: PolicyProblem?

    private var inotify: UnixFD?
    private var token: WatchToken?
    private let onEvents: @LoopActor ([String]) -> Void

    /// - Parameter onEvents: called with the names of what has changed; an empty one means the folder or everything.
    init(onEvents: @escaping @LoopActor ([String]) -> Void) { self.onEvents = onEvents }

    isolated deinit { token?.cancel() }

    /// Watches these folders too. Folders that are already watched stay watched; those that failed are retried.
    func watch(_ folders: Set<String>) {
        problem = nil
        guard let inotify = inotify ?? open() else { return fail(folders.min() ?? "", errno) }
        let events = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_ATTRIB
        for folder in folders.sorted()
        where inotify_add_watch(inotify.raw, folder, UInt32(events) | UInt32(IN_ONLYDIR)) < 0 { fail(folder, errno) }
    }

    private func open() -> UnixFD? {
        guard let opened = Inotify.open() else { return nil }
        inotify = opened
        token = Loop.shared.watch(opened, .readable) { [weak self] _ in self?.read(opened.raw) }
        return opened
    }

    private func fail(_ folder: String, _ code: Int32) {
        guard problem == nil else { return }
        problem = PolicyProblem(
            file: folder, line: 0,
            message:
                "the folder cannot be watched: \(Inotify.reason(code)); after a change, run: systemctl --user reload permd"
        )
    }

    private func read(_ descriptor: Int32) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var names: [String] = []
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            Inotify.forEachEvent(in: buffer.prefix(count)) { _, _, name in
                names.append(String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
            }
        }
        if !names.isEmpty { onEvents(names) }
    }
}
