// The worker on a file system that never answers.

import DBus
import Glibc
import PermissionTestKit
import TestSupport
import Testing

@testable import System

@Suite(.timeLimit(.minutes(2)))
@LoopActor
struct HungFileSystemTests {
    /// Whatever is done with a file there, the job fails after its deadline, and others go on.
    @Test(arguments: ["file", "folder", "folder/file"])
    func aJobThatWaitsForItFails(_ name: String) async throws {
        let folder = try TemporaryFolder(["folder"])
        for file in ["file", "folder/file"] { try folder.write("text", to: file) }
        let hung = try await HungFileSystem(over: folder.file(name == "file" ? "file" : "folder"))
        let path = folder.file(name)
        let worker = Worker()
        let ends = EventLog<String>()
        worker.run(about: "hung", deadline: 1000) {
            let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            return descriptor < 0 && access(path, F_OK) != 0
        } then: {
            ends.add($0 == nil ? "failed" : "answered")
        }
        try await hung.waitForVictim()
        worker.run(about: "honest", deadline: 60_000) {
            access("/", F_OK) == 0
        } then: {
            ends.add($0 == true ? "honest" : "wrong")
        }
        #expect(try await ends.wait(for: 2).sorted() == ["failed", "honest"] && worker.stuckThreads == 1)
        try await hung.end()
        try await waitUntil("the job's end") { worker.stuckThreads == 0 }
    }
}
