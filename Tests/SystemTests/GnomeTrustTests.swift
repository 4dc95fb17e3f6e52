// Whom the extension for GNOME Shell believes to be permd. Its rule runs here without the shell.

import DBus
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct GnomeTrustTests {
    private static let module = "\(Installer.project)/gnome-shell/permd@permd.org/trust.js"
    private static let script = "\(Installer.project)/Tests/SystemTests/gnome-trust.js"

    /// What the extension says of a program that is on the bus.
    private func verdict(_ program: String, through wrapper: [String] = []) async throws -> String {
        let bus = try await PrivateBus()
        let environment = ["DBUS_SESSION_BUS_ADDRESS": bus.address]
        let words = wrapper + [program, "monitor", "--session", "--dest", "org.example.Nobody"]
        let other = try ChildProcess(words[0], Array(words.dropFirst()), environment: environment)
        // It says so when it is connected.
        for await _ in other.lines { break }
        let judge = try ChildProcess(
            "gjs", ["-m", GnomeTrustTests.script, GnomeTrustTests.module], environment: environment)
        let output = await judge.output()
        other.terminate()
        await bus.end()
        return output
    }

    @Test func aProgramOutsideSandboxesIsTrusted() async throws {
        #expect(try await verdict("gdbus") == "trusted\n")
    }

    @Test func aBusProxyIsNot() async throws {
        let folder = try TemporaryFolder()
        let proxy = folder.file("xdg-dbus-proxy")
        #expect(
            try await ChildProcess("sh", ["-c", "cp \"$(command -v gdbus)\" \"$0\"", proxy]).waitForExit() == .exited(0)
        )
        #expect(try await verdict(proxy) == "it is a bus proxy for sandboxed programs\n")
    }

    @Test func aProcessInAnotherPidNamespaceIsNot() async throws {
        let wrapper = Superuser.command + ["unshare", "--pid", "--fork", "--kill-child"] + Superuser.back
        #expect(try await verdict("gdbus", through: wrapper) == "it is in a sandbox\n")
    }

    /// The process ID says nothing then: another process may have it by now.
    @Test(arguments: [(false, "trusted\n"), (true, "its process is not known\n")])
    func aPidfdDecides(hasExited: Bool, verdict: String) async throws {
        let program = """
            import os, sys
            child = os.fork()
            if child == 0:
                import signal
                signal.pause()
            process = os.pidfd_open(child)
            os.set_inheritable(process, True)
            if sys.argv[1] == "true":
                os.kill(child, 9)
                os.waitpid(child, 0)
            judge = os.spawnvp(os.P_WAIT, "gjs", ["gjs", "-m", *sys.argv[2:], str(process)])
            if sys.argv[1] != "true":
                os.kill(child, 9)
            sys.exit(judge)
            """
        let bus = try await PrivateBus()
        let judge = try ChildProcess(
            "python3", ["-c", program, "\(hasExited)", GnomeTrustTests.script, GnomeTrustTests.module],
            environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        #expect(await judge.output() == verdict)
        await bus.end()
    }
}
