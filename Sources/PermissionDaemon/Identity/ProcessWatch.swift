// Waits for processes to exit, by pidfd: what was allowed once ends with them.

import CLinux
import DBus
import Glibc
import PermissionModel

@LoopActor
final class ProcessWatch {
    private struct Watch {
        let pidfd: UnixFD
        let token: WatchToken
    }

    private var watches: [ProcessKey: Watch] = [:]
    private let reader = ProcessReader()

    /// Calls `onExit` once, when that very process has exited; a process watched already stays so. False: it has exited
    /// before, and nothing is called.
    func watch(_ process: ProcessKey, onExit: @escaping @LoopActor () -> Void) -> Bool {
        guard watches[process] == nil else { return true }
        let opened = clinux_pidfd_open(process.pid, 0)
        // The pidfd is of whoever has the pid now: the start time says whether that is the one meant.
        guard opened >= 0, (try? reader.startTime(process.pid)) == process.startTime else {
            if opened >= 0 { close(opened) }
            return false
        }
        let token = Loop.shared.watch(opened, .readable) { [weak self] _ in
            self?.watches.removeValue(forKey: process)?.token.cancel()
            onExit()
        }
        watches[process] = Watch(pidfd: UnixFD(owning: opened), token: token)
        return true
    }

    /// Nothing is called any more.
    func stop() {
        for watch in watches.values { watch.token.cancel() }
        watches = [:]
    }

    /// Whose pidfd it is, by the kernel's word (pidfd_open(2), proc(5)); nil when the process is gone or not among ours.
    nonisolated static func pid(of pidfd: Int32) -> Int32? {
        guard let file = fopen("/proc/self/fdinfo/\(pidfd)", "re") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = fread(&bytes, 1, bytes.count, file)
        for line in bytes.prefix(count).split(separator: UInt8(ascii: "\n")) where line.starts(with: "Pid:\t".utf8) {
            return Int32(String(decoding: line.dropFirst("Pid:\t".utf8.count), as: UTF8.self)).flatMap {
                $0 > 0 ? $0 : nil
            }
        }
        return nil
    }

    /// A pidfd is readable once its process has exited (pidfd_open(2)).
    nonisolated static func isAlive(_ pidfd: Int32) -> Bool {
        var entry = pollfd(fd: pidfd, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) == 0
    }
}
