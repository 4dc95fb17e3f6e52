// A program that permd cannot identify is what permd-guard says, unless it is in a sandbox that names its app.

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
        return try identity.process(
            identity.evidence(FakeProcess.pid), running: Array(program.utf8), under: alive.raw
        ).app.description
    }

    @Test func itIsTheProgramThatTheGuardNames() throws {
        let process = try hidden()
        #expect(throws: UnknownProcess.self) { try process.app() }
        #expect(try app(process, "/usr/bin/su:do") == "exe:/usr/bin/su%3Ado")
        #expect(throws: UnknownProcess.self) { try app(process, "sudo") }
    }

    @Test @LoopActor func itIsIdentified() async throws {
        let process = try hidden()
        let identifier = ProcessIdentifier(worker: Worker(), reader: process.reader)
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
        #expect(throws: UnknownProcess.self) { try app(FakeProcess(), "/usr/bin/sudo") }
    }

    // MARK: PID namespaces

    /// Process 42 in namespace 7, with the ancestors 43 (in 7), 44 (in 6) and 45, which is outside.
    private func contained(info: [Int32: String] = [:]) throws -> FakeProcess {
        let process = try FakeProcess(info: info[FakeProcess.pid], pidNamespace: "pid:[7]")
        try process.folder.write("42 (a) S 43" + String(repeating: " 1", count: 17) + " 777 23", to: "42/stat")
        let others = [(43, 44, "pid:[7]"), (44, 45, "pid:[6]"), (45, 1, "pid:[4026531836]")]
        for (pid, parent, namespace) in others {
            try process.makeFolder("\(pid)/ns")
            try process.makeFolder("\(pid)/root")
            symlink(namespace, process.folder.file("\(pid)/ns/pid"))
            try process.folder.write(
                "\(pid) (a) S \(parent)" + String(repeating: " 1", count: 17) + " 500 23", to: "\(pid)/stat")
            if let info = info[Int32(pid)] { try process.folder.write(info, to: "\(pid)/root/.flatpak-info") }
        }
        return process
    }

    @Test func ancestorsReachThisNamespace() throws {
        let process = try contained()
        #expect(try process.reader.ancestors(of: FakeProcess.pid).map(\.pid) == [43, 44, 45])
        // A process without a parent in this namespace has no one who answers for it.
        let orphan = try contained()
        try orphan.folder.write("44 (a) S 0" + String(repeating: " 1", count: 17) + " 500 23", to: "44/stat")
        #expect(throws: UnknownProcess.self) { try orphan.reader.ancestors(of: FakeProcess.pid) }
        // Parents in a circle.
        try orphan.folder.write("44 (a) S 43" + String(repeating: " 1", count: 17) + " 500 23", to: "44/stat")
        #expect(throws: UnknownProcess.self) { try orphan.reader.ancestors(of: FakeProcess.pid) }
    }

    /// As podman's, which stands for everything that it runs.
    @Test func inAPidNamespaceItIsTheProgramThatMadeIt() throws {
        let process = try contained()
        symlink("/usr/bin/conmon", process.folder.file("45/exe"))
        let alive = UnixFD(owning: Pidfd.open(getpid()))
        let identity = AppIdentity(reader: process.reader)
        let found = try identity.process(identity.evidence(FakeProcess.pid), under: alive.raw)
        #expect(found.app == AppID("exe:/usr/bin/conmon") && found.mayBeSandboxed)
    }

    @Test func inAPidNamespaceItIsTheProgramThatTheGuardNames() throws {
        let process = try contained()
        #expect(throws: UnknownProcess.self) { try process.app() }
        #expect(try app(process, "/usr/bin/podman") == "exe:/usr/bin/podman")
        #expect(throws: UnknownProcess.self) { try app(process, "") }
    }

    /// The outermost process is that which started the sandbox, and outside it.
    @Test(arguments: [(42, false), (43, false), (44, false), (45, true)])
    func aFlatpakThatHidesItsInfoIsNobody(_ pid: Int32, _ isNamed: Bool) throws {
        let process = try contained(info: [pid: "[Application]\nname=org.example.App\n"])
        #expect(((try? app(process, "/usr/bin/bwrap")) != nil) == isNamed)
    }
}
