// What is common to all uses of inotify(7).

import CLinux
import DBus
import Glibc

enum Inotify {
    /// Why a call failed. inotify uses some errno values with other meanings.
    static func reason(_ code: Int32) -> String {
        switch code {
        case ENOSPC: "the limit fs.inotify.max_user_watches is reached"
        case EMFILE: "the limit of descriptors or fs.inotify.max_user_instances is reached"
        default: errorText(code)
        }
    }

    /// An instance, or nil with errno set: a user may have a limited number of them.
    static func open() -> UnixFD? {
        let descriptor = inotify_init1(Int32(IN_CLOEXEC) | Int32(IN_NONBLOCK))
        return descriptor < 0 ? nil : UnixFD(owning: descriptor)
    }

    /// Calls `body` for each `struct inotify_event` with its watch, its mask and its name, which is padded with NULs.
    static func forEachEvent(
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
