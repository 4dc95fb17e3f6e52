// Which sockets of a process are TCP's, UDP's and netlink's, in imitated tables and in the kernel's.

import DBus
import Glibc
import PermissionTestKit
import TestSupport
import Testing

@testable import ProcessIdentity

struct InternetSocketsTests {
    private static let head =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"

    private static func line(_ port: String, _ state: String, _ inode: UInt32, address: String = "0100007F") -> String {
        "   0: \(address):\(port) 0100007F:0016 \(state) 00000000:00000000 00:00000000 00000000     0        0 \(inode)"
            + " 1 0000000063a4e08f 100 0 0 10 0\n"
    }

    /// What is found in imitated tables, for process 7.
    private func sockets(_ held: Set<UInt32>, _ tables: [String: String]) throws -> InternetSockets {
        let folder = try TemporaryFolder(["7"])
        mkdir(folder.file("7/net"), 0o700)
        let all = tables.isEmpty ? [:] : ["tcp": "", "udp": "", "netlink": ""].merging(tables) { $1 }
        for (name, lines) in all { try folder.write(InternetSocketsTests.head + lines, to: "7/net/\(name)") }
        return try ProcessReader(root: folder.path).internetSockets(7, among: held)
    }

    @Test func connectionsToAPortThatIsListenedOn() throws {
        let lines = Self.line("1269", "0A", 5) + Self.line("1269", "01", 6) + Self.line("C968", "01", 8)
        #expect(try sockets([5, 6, 8], ["tcp": lines]).hasAccepted)
        // The connection of another process, and connections that this one opened.
        #expect(try !sockets([5, 8], ["tcp": lines]).hasAccepted)
        #expect(try !sockets([6, 8], ["tcp": lines]).hasAccepted)
        #expect(try !sockets([], ["tcp": lines]).hasAccepted)
        // The other side has closed it.
        #expect(try sockets([5, 6], ["tcp": Self.line("1269", "0A", 5) + Self.line("1269", "08", 6)]).hasAccepted)
    }

    @Test func bothVersionsOfTheProtocol() throws {
        let address = "0000000000000000FFFF00000100007F"
        let lines = Self.line("1269", "0A", 5, address: address) + Self.line("1269", "01", 6, address: address)
        #expect(try sockets([5, 6], ["tcp": "", "tcp6": lines]).hasAccepted)
    }

    @Test func socketsInNoTable() throws {
        let netlink = "0000000018b1c8d5 0   1234 00000111 0        0        0     2        0        8\n"
        let tables = [
            "tcp": Self.line("1269", "0A", 5), "udp": Self.line("1269", "01", 7), "netlink": netlink,
        ]
        #expect(try sockets([5, 7, 8], tables).others.isEmpty)
        #expect(try sockets([5, 7, 9], tables).others == [9])
    }

    /// What cannot be read may be a client.
    @Test func unreadableTables() throws {
        func reason(_ tables: [String: String]) throws -> String {
            let error = #expect(throws: UnknownProcess.self) { _ = try sockets([5], tables) }
            return try #require(error).reason
        }
        #expect(try reason([:]).contains("No such file"))
        let line = Self.line("1269", "0A", 5)
        for broken in [" \n", "x", line.replacing(" 5 ", with: " five "), line + "   1: 0100007F:12"] {
            #expect(try reason(["tcp": broken]).contains("proc(5)"))
        }
        let many = ProcessReader.maximumTable / line.utf8.count + 1
        #expect(try reason(["tcp": String(repeating: line, count: many)]).contains("4096 KiB"))
    }

    @Test func theKernelsTables() throws {
        let listener = try LoopbackSocket(.tcp)
        let client = try listener.connected()
        let accepted = UnixFD(owning: accept(listener.fd.raw, nil, nil))
        func inode(_ socket: UnixFD) -> UInt32 {
            var status = stat()
            return fstat(socket.raw, &status) == 0 ? UInt32(status.st_ino) : 0
        }
        let reader = ProcessReader()
        #expect(try reader.internetSockets(getpid(), among: [inode(listener.fd), inode(accepted)]).hasAccepted)
        #expect(try !reader.internetSockets(getpid(), among: [inode(listener.fd), inode(client)]).hasAccepted)
    }
}
