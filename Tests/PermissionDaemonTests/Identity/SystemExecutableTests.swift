// Which executables are the system's, of programs that choose their own mounts.

import DBus
import Glibc
import PermissionTestKit
import ProcessIdentity
import System
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(2)))
@LoopActor
struct SystemExecutableTests {
    private enum Answer: Equatable {
        case system(String)
        case other, none
    }

    private let worker = Worker()

    private func find(_ pid: Int32) async throws -> Answer {
        let answers = EventLog<Answer>()
        worker.run(about: "a program") {
            ProcessReader().systemExecutable(pid)
        } then: {
            guard let found = $0 else { return answers.add(.none) }
            answers.add(found.map { .system(String(decoding: $0, as: UTF8.self)) } ?? .other)
        }
        return try await answers.wait(for: 1)[0]
    }

    private func waitForExec(_ pid: Int32, of path: String) async throws {
        try await waitUntil("the exec") { (try? ProcessReader().executableLink(pid)) == Array(path.utf8) }
    }

    @Test func aProgramOfTheSystem() async throws {
        let program = try ChildProcess("/usr/bin/sleep", ["infinity"])
        try await waitForExec(program.pid, of: "/usr/bin/sleep")
        #expect(try await find(program.pid) == .system("/usr/bin/sleep"))
    }

    /// For all others, the path by which it was started leads to a file system that never answers.
    @Test func aProgramBelowAMountThatHangs() async throws {
        let folder = try TemporaryFolder(["bin"])
        try folder.write("", to: "bin/sleep")
        let path = folder.file("bin/sleep")
        let wrapper = Superuser.mountNamespace("mount --bind /usr/bin/sleep \"$1\" && echo $$", [path])
        let program = try ChildProcess(wrapper[0], wrapper.dropFirst() + [path, "infinity"])
        var lines = program.lines.makeAsyncIterator()
        let pid = try #require(await lines.next().flatMap { Int32($0) })
        try await waitForExec(pid, of: path)
        let hung = try await HungFileSystem(over: folder.file("bin"))
        #expect(try await find(pid) == .other)
        kill(pid, SIGKILL)
        try await hung.end()
    }
}
