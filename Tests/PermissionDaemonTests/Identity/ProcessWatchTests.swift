// Watching processes for their exit.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import ProcessIdentity
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ProcessWatchTests {
    private let child = try! ChildProcess("sleep", ["1000"])

    private func key() throws -> ProcessKey {
        ProcessKey(pid: child.pid, startTime: try ProcessReader().startTime(child.pid))
    }

    @Test func anExitIsReportedOnce() async throws {
        let watch = ProcessWatch()
        let process = try key()
        let exits = EventLog<ProcessKey>()
        watch.onExit = { exits.add($0) }
        #expect(watch.isAlive(process) && watch.isAlive(process))
        #expect(!watch.isAlive(ProcessKey(pid: child.pid, startTime: process.startTime + 1)))
        child.terminate(SIGKILL)
        #expect(try await exits.wait(for: 1) == [process])
        #expect(!watch.isAlive(process))
        #expect(exits.all == [process])
    }

    /// A process that cannot be watched for lack of descriptors runs; its exit is reported when there are some again.
    @Test func aLackOfDescriptorsIsNoExit() async throws {
        var isLacking = true
        let tried = EventLog<Void>()
        let watch = ProcessWatch(retryTime: 1) { pid in
            tried.add(())
            guard isLacking else { return Pidfd.open(pid) }
            errno = EMFILE
            return -1
        }
        let process = try key()
        let exits = EventLog<ProcessKey>()
        watch.onExit = { exits.add($0) }
        #expect(watch.isAlive(process))
        try await tried.wait(for: 3)
        #expect(exits.all.isEmpty)
        isLacking = false
        child.terminate(SIGKILL)
        #expect(try await exits.wait(for: 1) == [process])
        #expect(!watch.isAlive(process))
    }

    /// Neither a forgotten process nor the end of the whole watch leaves a descriptor.
    @Test func nothingStaysOpen() throws {
        let process = try key()
        let before = pidfds()
        var watch: ProcessWatch? = ProcessWatch()
        #expect(watch?.isAlive(process) == true && pidfds() == before + 1)
        watch?.forget(process)
        #expect(pidfds() == before)
        #expect(watch?.isAlive(process) == true && pidfds() == before + 1)
        watch = nil
        #expect(pidfds() == before)
    }

    /// The number of descriptors of this process that refer to the child.
    private func pidfds() -> Int {
        (0..<Int32(1 << 12)).count { fcntl($0, F_GETFD) >= 0 && Pidfd.pid(of: $0) == child.pid }
    }
}
