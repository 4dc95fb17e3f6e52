// A program with rights that keep permd from looking at it is what permd-guard says, unless it is in a sandbox.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import System
import Testing

@testable import PermissionDaemon
@testable import ProcessIdentity

/// A program with rights that keep permd from looking at it: its executable cannot be read, its control groups can.
@Suite
struct PrivilegedProgramTests {
    private func hidden(controlGroup: String = "0::/user.slice/session-1.scope\n") throws -> FakeProcess {
        let process = try FakeProcess(controlGroup: controlGroup)
        for link in ["exe", "ns/pid"] { unlink(process.folder.file("42/\(link)")) }
        return process
    }

    private func app(_ process: FakeProcess, _ program: String) throws -> String {
        let alive = UnixFD(owning: Pidfd.open(getpid()))
        let identity = AppIdentity(reader: process.reader)
        return try identity.process(FakeProcess.pid, running: program, under: alive.raw).app.description
    }

    @Test func itIsTheProgramThatTheGuardNames() throws {
        let process = try hidden()
        #expect(throws: UnknownProcess.self) { try process.app() }
        #expect(try app(process, "/usr/bin/su:do") == "exe:/usr/bin/su%3Ado")
        #expect(throws: UnknownProcess.self) { try app(process, "sudo") }
    }

    /// As every app, it counts as identified once its decisions are known.
    @Test @LoopActor func itsDecisionsAreRead() async throws {
        let process = try hidden()
        let identifier = ProcessIdentifier(worker: Worker(), reader: process.reader)
        var prepared: [String] = []
        identifier.prepare = { app, then in
            prepared.append(app.description)
            then()
        }
        let alive = UnixFD(owning: Pidfd.open(getpid()))
        for program in ["", "/usr/bin/sudo"] {
            let found = await withCheckedContinuation { continuation in
                identifier.identify(FakeProcess.pid, under: alive, program: program) {
                    continuation.resume(returning: $0)
                }
            }
            #expect((try? found.get().app.description) == (program.isEmpty ? nil : "exe:\(program)"))
            #expect((try? found.get().instance) == (program.isEmpty ? nil : ProcessKey(pid: 42, startTime: 777)))
        }
        #expect(prepared == ["exe:/usr/bin/sudo"])
    }

    @Test(arguments: [
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox-1.scope\n",
        "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.example.App-1.scope\n",
    ])
    func inASandboxItIsNobody(_ controlGroup: String) throws {
        let process = try hidden(controlGroup: controlGroup)
        #expect(throws: UnknownProcess.self) { try app(process, "/usr/bin/sudo") }
    }

    /// One that permd may look at is what it looks like, or nobody.
    @Test func othersAreNotBelieved() throws {
        let process = try FakeProcess(pidNamespace: "pid:[1]")
        #expect(throws: UnknownProcess.self) { try app(process, "/usr/bin/sudo") }
    }
}
