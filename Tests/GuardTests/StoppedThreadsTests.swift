// Stopping the threads of programs that do what they can against it.

import DBus
import Glibc
import PermissionTestKit
import TestSupport
import Testing

@testable import permd_guard

@Suite(.timeLimit(.minutes(2)))
@LoopActor
struct StoppedThreadsTests {
    /// Nobody has asked about its threads: whatever is claimed is late.
    private let threads = StoppedThreads(waits: WaitTables(KernelMap(descriptor: -1)))

    /// The kernel attaches to none of its threads meanwhile, and would wait for that.
    @Test func aProgramThatLoadsAnotherForEverKeepsNobodyWaiting() async throws {
        let folder = try TemporaryFolder(["hung"])
        let hung = try await HungFileSystem(over: folder.file("hung"))
        try folder.write("#!\(hung.path)/interpreter\n", to: "script")
        chmod(folder.file("script"), 0o755)
        let code = """
            import os, signal, sys, threading
            threading.Thread(target=os.execv, args=(sys.argv[1], ["script"])).start()
            signal.pause()
            """
        let program = try ChildProcess("/usr/bin/python3", ["-Ic", code, folder.file("script")])
        try await hung.waitForVictim()
        #expect(throws: StoppedThreads.Refusal.failed(EBUSY)) { try threads.claim(program.pid) }
        let other = try ChildProcess("sleep", ["infinity"])
        #expect(throws: StoppedThreads.Refusal.late) { try threads.claim(other.pid) }
        try await hung.end()
    }

    @Test func aProgramThatHasExited() async throws {
        let program = try ChildProcess("true")
        _ = await program.waitForExit()
        #expect(throws: StoppedThreads.Refusal.failed(ESRCH)) { try threads.claim(program.pid) }
    }
}
