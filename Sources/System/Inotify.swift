// What is common to all uses of inotify(7).

import CLinux
package import DBus
import Glibc

/// An inotify instance, of which a user may have a limited number.
@LoopActor
package final class Inotify {
    private let descriptor: UnixFD
    private var token: WatchToken?

    /// Calls `onReadable` whenever there are events, until `close()`. Returns nil with errno set if there can be no
    /// further instance.
    package init?(onReadable: @escaping @LoopActor () -> Void) {
        let opened = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        guard opened >= 0 else { return nil }
        descriptor = UnixFD(owning: opened)
        token = Loop.shared.watch(descriptor, .readable) { _ in onReadable() }
    }

    package func close() {
        token?.cancel()
        token = nil
    }

    /// Whether `onReadable` is not called for now.
    package var isPaused: Bool {
        get { token?.events == [] }
        set { token?.events = newValue ? [] : .readable }
    }

    /// Returns the watch, or -1 with errno set. May block if the path leads to a file system that hangs.
    package nonisolated func watch(_ path: String, _ events: UInt32) -> Int32 {
        inotify_add_watch(descriptor.raw, path, events)
    }

    package func remove(_ watch: Int32) { inotify_rm_watch(descriptor.raw, watch) }

    /// Why a call failed. inotify uses some errno values with other meanings.
    package nonisolated static func reason(_ code: Int32) -> String {
        switch code {
        case ENOSPC: "the limit fs.inotify.max_user_watches is reached"
        case EMFILE: "the limit of descriptors or fs.inotify.max_user_instances is reached"
        default: errorText(code)
        }
    }

    /// Reads all events. Calls `body` for each with its watch, its mask and its name, which is padded with NULs.
    package func read(_ body: (_ watch: Int32, _ mask: UInt32, _ name: ArraySlice<UInt8>) -> Void) {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = Glibc.read(descriptor.raw, &buffer, buffer.count)
            guard count > 0 else { return }
            Inotify.forEachEvent(in: buffer.prefix(count), body)
        }
    }

    /// Takes the bytes apart into `struct inotify_event`s.
    private static func forEachEvent(
        in bytes: ArraySlice<UInt8>, _ body: (_ watch: Int32, _ mask: UInt32, _ name: ArraySlice<UInt8>) -> Void
    ) {
        let header = 16
        var rest = bytes
        while rest.count >= header {
            // The fields are wd, mask, cookie and the length of the name.
            let (watch, mask, length) = rest.withUnsafeBytes { bytes in
                (
                    bytes.loadUnaligned(fromByteOffset: 0, as: Int32.self),
                    bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self),
                    Int(bytes.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
                )
            }
            body(watch, mask, rest.dropFirst(header).prefix(length))
            rest = rest.dropFirst(header + length)
        }
    }
}
