// The network namespaces of processes and their AF_UNIX sockets, in an imitated table and in the kernel's.

import DBus
import Glibc
import PermissionModel
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

    // MARK: Connections from other namespaces

    /// An imitated process that started at the moment with its own number.
    private struct Process {
        let pid: Int32
        /// Nil if the link cannot be read.
        var network: String?
        /// The inodes of the sockets that it holds.
        var sockets: [UInt32] = []
        /// Descriptors of other kinds.
        var files = 0
        var user = getuid()
        /// Whether its descriptors can be read.
        var isOpen = true
    }

    /// The connections that are found among imitated processes, of which this one is in the network "0".
    private func connections(
        _ wanted: Set<UInt32>, _ processes: [Process], tables: [String: String]
    ) throws -> [Set<UInt32>: Set<Int32>]? {
        let folder = try TemporaryFolder(["self"] + processes.map { "\($0.pid)" })
        func link(_ target: String, _ path: String) { symlink(target, folder.file(path)) }
        mkdir(folder.file("self/ns"), 0o700)
        link("net:[0]", "self/ns/net")
        for process in processes {
            let base = "\(process.pid)"
            for name in ["ns", "net"] { mkdir(folder.file("\(base)/\(name)"), 0o700) }
            if let network = process.network { link("net:[\(network)]", "\(base)/ns/net") }
            let head = "Num       RefCount Protocol Flags    Type St Inode Path\n"
            if let table = tables[process.network ?? base] { try folder.write(head + table, to: "\(base)/net/unix") }
            let fields = Array(repeating: "0", count: 18).joined(separator: " ")
            try folder.write("\(base) (a) S \(fields) \(base) 0", to: "\(base)/stat")
            try folder.write("Name:\ta\nUid:\t\(process.user)\t0\t0\t0\n", to: "\(base)/status")
            guard process.isOpen else { continue }
            mkdir(folder.file("\(base)/fd"), 0o700)
            let targets = Array(repeating: "/dev/null", count: process.files) + process.sockets.map { "socket:[\($0)]" }
            for (number, target) in targets.enumerated() { link(target, "\(base)/fd/\(number)") }
        }
        guard let found = OtherNetworks(ProcessReader(root: folder.path)).connections(wanted) else { return nil }
        for process in found.flatMap(\.processes) { #expect(process.startTime == UInt64(process.pid)) }
        return Dictionary(uniqueKeysWithValues: found.map { ($0.sockets, Set($0.processes.map(\.pid))) })
    }

    private static let sandbox = line(50) + line(51) + line(7)

    @Test func processesThatHoldSockets() throws {
        let processes = [
            Process(pid: 10, network: "0", sockets: [51]), Process(pid: 20, network: "1"),
            Process(pid: 21, network: "1", sockets: [6, 7], files: 3), Process(pid: 22, network: "1", sockets: [9]),
            Process(pid: 30, network: "2", sockets: [8]),
        ]
        let tables = ["0": Self.line(90), "1": Self.sandbox, "2": Self.line(60) + Self.line(8)]
        #expect(try connections([], processes, tables: tables) == [:])
        #expect(try connections([50, 51], processes, tables: tables) == [[50, 51]: [21]])
        #expect(try connections([50, 60], processes, tables: tables) == [[50]: [21], [60]: [30]])
        // One of this namespace, and one that is nowhere.
        #expect(try connections([50, 90], processes, tables: tables) == nil)
        #expect(try connections([50, 91], processes, tables: tables) == nil)
    }

    /// A process whose descriptors cannot be read may hold any; without a process there is nobody to ask about.
    @Test func processesThatCannotBeRead() throws {
        let reaper = Process(pid: 20, network: "1")
        let holder = Process(pid: 21, network: "1", sockets: [7])
        let closed = Process(pid: 22, network: "1", isOpen: false)
        let large = Process(pid: 23, network: "1", files: ProcessReader.maximumDescriptors + 1)
        let tables = ["1": Self.sandbox, "24": Self.sandbox]
        #expect(try connections([50], [reaper, holder, closed, large], tables: tables) == [[50]: [21, 22, 23]])
        #expect(try connections([50], [reaper], tables: tables) == nil)
        // One that hides where it is counts only if it is of this user.
        let hidden = Process(pid: 24, isOpen: false)
        #expect(try connections([50], [holder, hidden], tables: tables) == [[50]: [21, 24]])
        let others = Process(pid: 24, user: getuid() + 1, isOpen: false)
        #expect(try connections([50], [holder, others], tables: tables) == [[50]: [21]])
    }

    @Test func searchesEnd() throws {
        let holder = Process(pid: 20, network: "1", sockets: [7])
        let length = OtherNetworks.maximumTables / Self.line(1).utf8.count + 1
        let long = ["1": Self.sandbox, "2": String(repeating: Self.line(1), count: length)]
        let second = Process(pid: 30, network: "2", sockets: [1])
        #expect(try connections([50], [holder], tables: long) == [[50]: [20]])
        #expect(try connections([1], [second], tables: long) == nil)
        let many = (20...20 + Int32(OtherNetworks.maximumProcesses)).map {
            Process(pid: $0, network: "1", sockets: [7])
        }
        #expect(try connections([50], many, tables: ["1": Self.sandbox]) == nil)
        #expect(try connections([50], many.dropLast(), tables: ["1": Self.sandbox])?.values.first?.count == 1024)
    }

    /// Descriptors of all kinds take time to read.
    @Test func aBudgetOfDescriptors() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
        let sockets = ends.map { UnixFD(owning: $0) }
        let reader = ProcessReader()
        var budget = 1 << 20
        var all = 0
        #expect(
            try reader.forEachSocket(of: getpid(), budget: &budget) { _ in
                all += 1
                return true
            })
        #expect(all >= sockets.count && (1 << 20) - budget > all)
        var little = 2
        #expect(throws: UnknownProcess.self) {
            _ = try reader.forEachSocket(of: getpid(), budget: &little) { _ in true }
        }
        #expect(little == 0)
    }
}
