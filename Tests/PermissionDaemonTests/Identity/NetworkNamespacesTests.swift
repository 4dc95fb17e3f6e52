// The network namespaces of processes and their AF_UNIX sockets, in an imitated table and in the kernel's.

import DBus
import Glibc
import PermissionTestKit
import Testing

@testable import ProcessIdentity

struct NetworkNamespacesTests {
    private static func line(_ inode: UInt32, _ path: String = "") -> String {
        "0000000018b1c8d5: 00000003 00000000 00000000 0001 03 \(inode)\(path)\n"
    }

    private func sockets(_ table: String, budget: inout Int) throws -> Set<UInt32> {
        let folder = try TemporaryFolder(["7"])
        mkdir(folder.file("7/net"), 0o700)
        try folder.write("Num       RefCount Protocol Flags    Type St Inode Path\n" + table, to: "7/net/unix")
        return try ProcessReader(root: folder.path).unixSockets(inNetworkOf: 7, budget: &budget)
    }

    /// A path may contain spaces and ends of lines.
    @Test func numbersOfSockets() throws {
        let table = Self.line(12345) + Self.line(7, " /run/a b\nc d e f g h i j") + Self.line(9, " @x")
        var budget = 1000
        #expect(try sockets(table, budget: &budget) == [12345, 7, 9])
        #expect(budget > 0 && budget <= 1000 - table.utf8.count)
    }

    @Test func aLongTable() throws {
        var budget = 1000
        let table = String(repeating: Self.line(1), count: 30)
        let error = #expect(throws: UnknownProcess.self) { _ = try sockets(table, budget: &budget) }
        #expect(error?.reason.contains("larger than") == true)
    }

    @Test func theKernelsTable() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let sockets = ends.map { UnixFD(owning: $0) }
        let reader = ProcessReader()
        var budget = 4 << 20
        let found = try reader.unixSockets(inNetworkOf: getpid(), budget: &budget)
        for socket in sockets {
            var status = stat()
            #expect(fstat(socket.raw, &status) == 0 && found.contains(UInt32(status.st_ino)))
        }
        #expect(try reader.network(getpid()) == reader.ownNetwork())
        #expect(reader.user(getpid()) == getuid())
    }
}
