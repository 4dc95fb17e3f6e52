// Stopping the threads of programs that do what they can against it.

import DBus
import Glibc
import PermissionTestKit
import Synchronization
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

    /// A busy machine, or a virtual one, lets time pass in which the guard has no processor.
    @Test func timeThatPassesHindersNothing() async throws {
        let programs = try (0..<100).map { _ in try ChildProcess("sleep", ["infinity"]) }
        // The first claim sets the handler.
        #expect(throws: StoppedThreads.Refusal.late) { try threads.claim(programs[0].pid) }
        let (here, test) = (pthread_self(), Progress())
        let failure = runDetached {
            while !test.isOver.load(ordering: .relaxed) {
                pthread_kill(here, SIGALRM)
                test.hasBegun.store(true, ordering: .relaxed)
                // Microseconds that are shorter than a claim.
                for _ in 0..<4 { sched_yield() }
            }
        }
        #expect(failure == 0)
        while !test.hasBegun.load(ordering: .relaxed) { sched_yield() }
        for program in programs.dropFirst() {
            #expect(throws: StoppedThreads.Refusal.late) { try threads.claim(program.pid) }
        }
        test.isOver.store(true, ordering: .relaxed)
    }

    private final class Progress: Sendable {
        let hasBegun = Atomic(false)
        let isOver = Atomic(false)
    }

    @Test func aProgramThatHasExited() async throws {
        let program = try ChildProcess("true")
        _ = await program.waitForExit()
        #expect(throws: StoppedThreads.Refusal.failed(ESRCH)) { try threads.claim(program.pid) }
    }
}
