// A file system that never answers: whoever opens, stats or reads a file on it waits until it ends.

import DBus
import Glibc
package import PermissionTestKit

/// A FUSE file system over a file or folder, which answers only the kernel's first request (fuse(4)).
package final class HungFileSystem: Sendable {
    /// The file or folder under which everything hangs.
    package let path: String
    private let device: UnixFD
    private let isOwn: Bool

    /// Mounts the file system over `path`, which must exist.
    ///
    /// - Parameter sandbox: A process in whose mount namespace it is mounted; by default in this one.
    package init(over path: String, in sandbox: Int32? = nil) async throws(TestKitError) {
        self.path = path
        isOwn = sandbox == nil
        device = UnixFD(owning: open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK))
        guard device.raw >= 0 else { throw .system("cannot open /dev/fuse", errno) }
        let place = sandbox.map { "/proc/\($0)/root\(path)" } ?? path
        var status = stat()
        guard stat(place, &status) == 0 else { throw .system("cannot find \(place)", errno) }
        let mode = String(status.st_mode & S_IFMT, radix: 8)
        let entering = sandbox.map { ["nsenter", "--mount", "--target", String($0)] } ?? []
        let options = "fd=0,rootmode=\(mode),user_id=\(geteuid()),group_id=\(getegid()),allow_other"
        let words = Superuser.command + entering + ["mount", "-i", "-t", "fuse", "-o", options, "hung", path]
        let mount = try ChildProcess(words[0], Array(words.dropFirst()), standardInput: .descriptor(device.raw))
        guard await mount.waitForExit() == .exited(0) else { throw TestKitError("cannot mount over \(place)") }
        try answerFirst()
    }

    /// Closing the device ends all waiting calls with an error.
    deinit { close(device.take()) }

    /// Waits until somebody waits for an answer.
    @LoopActor
    package func waitForVictim() async throws {
        let victims = EventLog<Bool>()
        let watch = Loop.shared.watch(device, .readable) { _ in if victims.all.isEmpty { victims.add(true) } }
        defer { watch.cancel() }
        try await victims.wait(for: 1)
    }

    /// Ends all waiting calls with an error, and unmounts the file system.
    package func end() async throws {
        close(device.take())
        guard isOwn else { return }
        let words = Superuser.command + ["umount", "--lazy", path]
        _ = try await ChildProcess(words[0], Array(words.dropFirst())).waitForExit()
    }

    /// Answers FUSE_INIT, without which every other request would wait in the kernel alone, unseen by `waitForVictim`.
    private func answerFirst() throws(TestKitError) {
        // The kernel refuses smaller buffers (FUSE_MIN_READ_BUFFER).
        var request = [UInt32](repeating: 0, count: 16 << 10)
        let count = read(device.raw, &request, request.count * 4)
        guard count > 0, request[1] == HungFileSystem.initialize else {
            throw .system("the kernel did not begin to use the file system", errno)
        }
        // fuse_out_header: length, error, the request's number; fuse_init_out: version, then limits that are zero.
        var answer = [UInt32](repeating: 0, count: 20)
        answer[0] = UInt32(answer.count * 4)
        (answer[2], answer[3]) = (request[2], request[3])
        (answer[4], answer[5]) = (HungFileSystem.version.major, HungFileSystem.version.minor)
        guard write(device.raw, answer, answer.count * 4) == answer.count * 4 else {
            throw .system("the kernel does not accept the file system", errno)
        }
    }

    /// FUSE_INIT of linux/fuse.h.
    private static let initialize: UInt32 = 26
    private static let version: (major: UInt32, minor: UInt32) = (7, 31)
}
