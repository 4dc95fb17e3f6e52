// Watches folders for changes (inotify(7)), and reports when it cannot.

import CLinux
import DBus
import Glibc

@LoopActor
final class FolderWatch {
    /// Why changes may go unnoticed; nil while all folders are watched.
    private(set) var problem: PolicyProblem?

    private var descriptor: Int32 = -1
    private let onEvents: @LoopActor ([String]) -> Void

    /// - Parameter onEvents: called with the names of what has changed; an empty one means the folder or everything.
    init(onEvents: @escaping @LoopActor ([String]) -> Void) { self.onEvents = onEvents }

    /// Watches these folders too. Folders that are already watched stay watched; those that failed are retried.
    func watch(_ folders: Set<String>) {
        problem = nil
        if descriptor < 0 {
            descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
            guard descriptor >= 0 else { return fail(folders.min() ?? "", errno) }
            Loop.shared.watch(descriptor, .readable) { [weak self] _ in self?.read() }
        }
        let events = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_ATTRIB
        for folder in folders.sorted()
        where inotify_add_watch(descriptor, folder, UInt32(events) | UInt32(IN_ONLYDIR)) < 0 { fail(folder, errno) }
    }

    private func fail(_ folder: String, _ code: Int32) {
        guard problem == nil else { return }
        // inotify uses these errno values with other meanings.
        let reason =
            switch code {
            case ENOSPC: "the limit fs.inotify.max_user_watches is reached"
            case EMFILE: "the limit of descriptors or fs.inotify.max_user_instances is reached"
            default: errorText(code)
            }
        problem = PolicyProblem(
            file: folder, line: 0,
            message: "the folder cannot be watched: \(reason); after a change, run: systemctl --user reload permd")
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var names: [String] = []
        while true {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            names += FolderWatch.names(buffer.prefix(count))
        }
        if !names.isEmpty { onEvents(names) }
    }

    /// The names of `struct inotify_event`s: wd, mask, cookie and length, 16 bytes, then the padded name.
    private static func names(_ bytes: ArraySlice<UInt8>) -> [String] {
        var names: [String] = []
        var rest = bytes
        while rest.count >= 16 {
            let start = rest.startIndex
            let length = (0..<4).reduce(0) { $0 | Int(rest[start + 12 + $1]) << (8 * $1) }
            names.append(String(decoding: rest.dropFirst(16).prefix(length).prefix { $0 != 0 }, as: UTF8.self))
            rest = rest.dropFirst(16 + length)
        }
        return names
    }
}
