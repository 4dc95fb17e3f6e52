// Which processes have a device open, in a copy of /proc and in the real one.

import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@testable import ProcessIdentity

@Suite(.timeLimit(.minutes(3)))
struct DeviceSearchTests {
    private let terminal = try! PseudoTerminal()

    /// An imitation of /proc with a process.
    private func process(_ pid: Int32, in folder: TemporaryFolder, start: Int = 777) throws {
        for name in ["\(pid)", "\(pid)/fd", "\(pid)/fdinfo"] { mkdir(folder.file(name), 0o700) }
        try folder.write("\(pid) (a b) S" + (4...21).map { " \($0)" }.joined() + " \(start)", to: "\(pid)/stat")
    }

    private func descriptor(
        _ number: Int, of pid: Int32, in folder: TemporaryFolder, _ target: String, flags: String = "0100002"
    ) throws {
        symlink(target, folder.file("\(pid)/fd/\(number)"))
        try folder.write("pos:\t0\nflags:\t\(flags)\nmnt_id:\t9\n", to: "\(pid)/fdinfo/\(number)")
    }

    private func search(_ root: String) -> [OpenDescriptors] {
        ProcessReader(root: root).openers(of: [UInt64(terminal.number)])
            .sorted { $0.process.pid < $1.process.pid }
    }

    private func opener(_ pid: Int32, _ descriptors: Int) -> OpenDescriptors {
        OpenDescriptors(
            process: ProcessKey(pid: pid, startTime: 777), device: UInt64(terminal.number), descriptors: descriptors)
    }

    @Test func everyProcessIsVisited() throws {
        let folder = try TemporaryFolder(["self", "asound"])
        for pid in Int32(10)..<60 { try process(pid, in: folder) }
        try descriptor(3, of: 12, in: folder, terminal.path)
        try descriptor(7, of: 12, in: folder, terminal.path, flags: "02100000")
        try descriptor(3, of: 30, in: folder, "/dev/null")
        try descriptor(4, of: 30, in: folder, "socket:[7]")
        try descriptor(5, of: 30, in: folder, "/dev/pts/does-not-exist")
        try descriptor(6, of: 30, in: folder, folder.path)
        // Writing only: it feeds a loopback camera.
        try descriptor(3, of: 40, in: folder, terminal.path, flags: "0100001")
        try descriptor(3, of: 59, in: folder, terminal.path, flags: "not a number")
        #expect(search(folder.path) == [opener(12, 2), opener(59, 1)])
        #expect(search(folder.file("missing")) == [])
    }

    @Test(arguments: [(81, 0, 0x5100), (116, 300, 0x10742C), (0x1234, 0x56789, 0x1000_5672_3489)])
    func deviceNumbers(_ major: UInt64, _ minor: UInt64, _ number: UInt64) {
        #expect(DescriptorFolder.number(major, minor) == number)
    }

    /// A process with very many descriptors takes no longer than others.
    @Test func descriptorsAreLimited() throws {
        let folder = try TemporaryFolder()
        try process(10, in: folder)
        for number in 0..<(ProcessReader.maximumDescriptors + 50) {
            try descriptor(number, of: 10, in: folder, terminal.path)
        }
        #expect(search(folder.path) == [opener(10, ProcessReader.maximumDescriptors)])
    }

    /// A device that was handed to very many processes takes no longer either.
    @Test func processesAreLimited() throws {
        let folder = try TemporaryFolder()
        for pid in 0..<Int32(ProcessReader.maximumOpeners + 10) {
            try process(100 + pid, in: folder)
            try descriptor(3, of: 100 + pid, in: folder, terminal.path)
        }
        #expect(search(folder.path).count == ProcessReader.maximumOpeners)
    }

    @Test func aRealProcess() async throws {
        let shell = try ChildProcess(
            "sh", ["-c", "exec 3<>\"$0\" 4<>\"$0\"; echo open; exec cat", terminal.path], standardInput: .pipe)
        // Programs in containers may have a terminal with the same number, from another instance of devpts.
        func found() -> OpenDescriptors? { search("/proc").first { $0.process.pid == shell.pid } }
        for await line in shell.lines where line == "open" { break }
        let reader = ProcessReader()
        let opener = try #require(found())
        #expect(opener.descriptors == 2)
        #expect(try opener.process.startTime == reader.startTime(shell.pid))
        #expect(reader.process(ofThread: shell.pid) == shell.pid)
        shell.closeInput()
        _ = await shell.waitForExit()
        #expect(found() == nil)
    }
}
