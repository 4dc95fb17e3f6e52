// Sockets of processes as the kernel reports them: which are connected to the bus, and which process holds them.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import Testing

@testable import ProcessIdentity

@Suite(.timeLimit(.minutes(2)))
struct BusSocketsTests {
    /// A listening socket in the place of a bus, with a path or an abstract address.
    private struct Listener {
        let path: String
        private let folder: TemporaryFolder
        private let socket = UnixFD(owning: Glibc.socket(AF_UNIX, BusSocketsTests.stream, 0))
        private let address: [UInt8]

        init(isAbstract: Bool) throws {
            folder = try TemporaryFolder()
            path = folder.file("bus")
            address = isAbstract ? [0] + Array(path.utf8) : Array(path.utf8) + [0]
            try #require(Listener.with(address) { bind(socket.raw, $0, $1) } == 0 && listen(socket.raw, 16) == 0)
        }

        /// A connected socket and its peer.
        func connect() throws -> [UnixFD] {
            let client = UnixFD(owning: Glibc.socket(AF_UNIX, BusSocketsTests.stream, 0))
            try #require(Listener.with(address) { Glibc.connect(client.raw, $0, $1) } == 0)
            return [client, UnixFD(owning: accept(socket.raw, nil, nil))]
        }

        private static func with(
            _ name: [UInt8], _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
        ) -> Int32 {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
            let size = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
            }
        }
    }

    private static let stream = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    private static let reader = ProcessReader()

    private static func inode(_ socket: UnixFD) -> UInt32 {
        var status = stat()
        return fstat(socket.raw, &status) == 0 ? UInt32(status.st_ino) : 0
    }

    private static func held(_ sockets: BusSockets, _ pid: Int32, _ count: Int = 9) throws -> Set<ProcessSocket> {
        Set(try sockets.sockets(of: pid, atMost: count, reader))
    }

    private static func pair() -> [UnixFD] {
        var ends: [Int32] = [-1, -1]
        return socketpair(AF_UNIX, stream, 0, &ends) == 0 ? ends.map(UnixFD.init(owning:)) : []
    }

    @Test(arguments: [false, true])
    func onlySocketsToTheBusAreFound(_ isAbstract: Bool) throws {
        let bus = try Listener(isAbstract: isAbstract)
        let own = try bus.connect()
        let sockets = try BusSockets(of: own[0].raw)
        let others = try Listener(isAbstract: isAbstract).connect() + BusSocketsTests.pair()
        let held = { (count: Int) in
            Set(try BusSocketsTests.held(sockets, getpid(), count).map(\.inode))
        }
        #expect(try held(9) == [BusSocketsTests.inode(own[0])])
        var further = [try bus.connect(), try bus.connect()]
        let all = Set(([own] + further).map { BusSocketsTests.inode($0[0]) })
        #expect(try held(9) == all)
        #expect(try held(2).count == 2 && held(2).isSubset(of: all) && held(0).isEmpty)
        let closed = BusSocketsTests.inode(further[0][0])
        further.removeFirst()
        #expect(try held(9) == all.subtracting([closed]))
        withExtendedLifetime((others, further)) {}
    }

    @Test func socketsBelongToTheirHolderNotToWhoConnected() async throws {
        let bus = try Listener(isAbstract: false)
        let own = try bus.connect()
        let sockets = try BusSockets(of: own[0].raw)
        var given = try bus.connect()
        let inode = BusSocketsTests.inode(given[0])
        let child = try ChildProcess("sleep", ["1000"], standardInput: .descriptor(given[0].raw))
        close(given[0].take())
        let held = ProcessSocket(inode: inode, descriptor: 0)
        #expect(try BusSocketsTests.held(sockets, child.pid) == [held])
        #expect(BusSocketsTests.reader.has(child.pid, held))
        #expect(try BusSocketsTests.held(sockets, getpid()).allSatisfy { $0.inode != inode })
        child.terminate(SIGKILL)
        _ = await child.waitForExit()
        #expect(!BusSocketsTests.reader.has(child.pid, held))
        #expect(throws: UnknownProcess.self) {
            try BusSocketsTests.held(sockets, child.pid)
        }
        given.removeAll()
    }

    @Test func theKernelReportsSockets() throws {
        #expect(try UnixSockets().areReported())
    }

    /// A process with too many sockets, among which one could be hidden, is refused as unknown.
    @Test func aSearchIsBounded() async throws {
        let bus = try Listener(isAbstract: false)
        let own = try bus.connect()
        let sockets = try BusSockets(of: own[0].raw)
        let given = try bus.connect()
        let program = """
            import os, resource, socket, sys, time
            resource.setrlimit(resource.RLIMIT_NOFILE, (4000, 4000))
            pairs = [socket.socketpair() for _ in range(int(sys.argv[1]))]
            os.dup2(0, 3000)
            os.close(0)
            print("ready", flush=True)
            time.sleep(1000)
            """
        for pairs in [64, BusSockets.maximumSockets / 2] {
            let child = try ChildProcess(
                "python3", ["-c", program, "\(pairs)"], standardInput: .descriptor(given[0].raw))
            for await line in child.lines { if line == "ready" { break } }
            if pairs == 64 {
                #expect(try BusSocketsTests.held(sockets, child.pid).map(\.descriptor) == [3000])
            } else {
                #expect(throws: UnknownProcess.self) { try BusSocketsTests.held(sockets, child.pid) }
            }
            #expect(throws: UnknownProcess.self) {
                try BusSocketsTests.held(sockets, child.pid, BusSockets.maximumSockets + 1)
            }
        }
    }

    /// The kernel reports only sockets of the caller's network namespace. Of a process in another one, every socket
    /// that may be connected to the bus counts.
    @Test func aProcessInAnotherNetworkNamespace() async throws {
        let bus = try Listener(isAbstract: false)
        let own = try bus.connect()
        let sockets = try BusSockets(of: own[0].raw)
        let program = """
            import os, socket, sys, time
            if len(sys.argv) > 1:
                bus = socket.socket(socket.AF_UNIX)
                bus.connect(sys.argv[1])
            print(os.getpid(), flush=True)
            time.sleep(1000)
            """
        for (arguments, expected) in [([bus.path], 1), ([], 0)] {
            let words =
                Superuser.command + ["unshare", "-n"] + Superuser.back + ["python3", "-c", program] + arguments
            let child = try ChildProcess(words[0], Array(words.dropFirst()))
            var pid: Int32 = 0
            for await line in child.lines {
                pid = Int32(line) ?? 0
                break
            }
            #expect(try BusSocketsTests.held(sockets, pid).count == expected)
        }
    }

    /// Sockets are compared by the bus's address.
    @Test func descriptorsWithoutABusAddressAreRefused() throws {
        let ends = BusSocketsTests.pair()
        let file = UnixFD(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        let network = UnixFD(owning: socket(AF_INET, BusSocketsTests.stream, 0))
        for descriptor in [ends[0], file, network] {
            #expect(throws: UnixSockets.Refusal.self) { try BusSockets(of: descriptor.raw) }
        }
    }
}
