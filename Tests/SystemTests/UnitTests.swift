// The unit of the daemon under a real user manager: started, locked down, reloaded, watched, restarted.

import DBus
import Foundation
import PermissionTestKit
import Testing

// One after the other: each starts a whole manager, and the tests beside them want the processors too.
@Suite(.serialized, .timeLimit(.minutes(3)))
@LoopActor
struct UnitTests {
    @Test func itIsThereAfterLogin() async throws {
        let login = try await Login()
        #expect(try await login.unit("ActiveState") == "active")
        #expect(try await login.unit("StatusText") == "Serving org.permd")
        #expect(try await login.succeed("permctl status") == "Nothing was decided yet.")
        await login.end()
    }

    @Test func theBusStartsIt() async throws {
        let login = try await Login(enabled: false)
        #expect(try await login.unit("ActiveState") == "inactive")
        try await login.succeed("permctl status")
        #expect(try await login.unit("ActiveState") == "active")
        let pid = try await login.unit("MainPID")
        #expect(try await login.succeed("readlink /proc/\(pid)/exe") == "\(login.home)/.local/libexec/permd")
        // Stopped, it is no failure, and the next call starts it again.
        try await login.succeed("permctl grant exe:/usr/bin/a camera && systemctl --user stop permd")
        #expect(try await login.unit("Result") == "success")
        #expect(try await login.succeed("permctl status exe:/usr/bin/a").contains("granted"))
        #expect(try await login.unit("MainPID") != pid)
        await login.end()
    }

    @Test func itIsLockedDown() async throws {
        let login = try await Login()
        let pid = try await login.unit("MainPID")
        let status = try await login.succeed("cat /proc/\(pid)/status").split(separator: "\n")
        for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"] {
            #expect(status.contains { $0 == line }, "\(line)")
        }
        // The folder of decisions is the person's alone, and nothing is left of a looser mask.
        #expect(try await login.succeed("stat -c %a \(login.state) \(login.state)/permd.db") == "700\n600")
        // As far as a user's manager goes: everything left out has its line in the unit.
        try await login.succeed("systemd-analyze --user security --no-pager --threshold=60 permd.service")
        #expect(try await login.succeed("systemd-analyze --user verify permd.service permd-agent.service") == "")
        await login.end()
    }

    @Test func reloadKeepsTheProcess() async throws {
        let login = try await Login()
        let pid = try await login.unit("MainPID")
        try await login.succeed("systemctl --user reload permd")
        #expect(try await login.unit("ActiveState") == "active")
        #expect(try await login.unit("MainPID") == pid)
        #expect(try await login.unit("NRestarts") == "0")
        await login.end()
    }

    /// One that was killed, and one that hangs, come back with everything they told of.
    @Test(arguments: ["KILL", "STOP"])
    func itComesBack(_ signal: String) async throws {
        // Longer than a busy machine keeps a healthy daemon waiting.
        let login = try await Login("WatchdogSec=4s\nTimeoutAbortSec=1s")
        try await login.succeed("permctl deny exe:/usr/bin/a camera")
        let pid = try await login.unit("MainPID")
        try await login.watchName()
        try await login.succeed("kill -\(signal) \(pid)")
        try await login.nameCameBack()
        #expect(try await login.succeed("permctl status exe:/usr/bin/a").contains("denied"))
        #expect(try await login.unit("MainPID") != pid)
        #expect(try await login.unit("NRestarts") == "1")
        await login.end()
    }

    /// Wrong arguments do not mend themselves.
    @Test func aWrongCallIsNotRepeated() async throws {
        let login = try await Login("ExecStart=\nExecStart=%h/.local/libexec/permd --nonsense", enabled: false)
        #expect(try await login.run("systemctl --user start permd").status != 0)
        #expect(try await login.unit("ActiveState") == "failed")
        #expect(try await login.unit("ExecMainStatus") == "64")
        #expect(try await login.unit("NRestarts") == "0")
        await login.end()
    }

    nonisolated static let hasAgent = FileManager.default.fileExists(atPath: BuiltProgram.path("permd-agent"))

    /// Without a display the window's unit says so and leaves.
    @Test(.enabled(if: hasAgent))
    func theWindowWithoutADisplay() async throws {
        let login = try await Login(enabled: false)
        #expect(try await login.run("systemctl --user start permd-agent").status != 0)
        let status = try await login.succeed(
            "systemctl --user show --value --property ExecMainStatus --property UnitFileState permd-agent")
        #expect(status.split(separator: "\n") == ["69", "static"])
        await login.end()
    }

    /// The bus starts the window by its unit; locked down as it is, it comes up and registers.
    @Test(.enabled(if: hasAgent))
    func theBusStartsTheWindow() async throws {
        let login = try await Login()
        try await login.succeed(
            """
            Xvfb -displayfd 3 -nolisten tcp 3>$HOME/display >/dev/null 2>&1 &
            until [ -s $HOME/display ]; do sleep 0.05; done
            systemctl --user set-environment DISPLAY=:$(cat $HOME/display)
            """)
        #expect(try await login.succeed("permctl doctor || true").contains("the bus starts one when a prompt is due"))
        let bus = "org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus"
        try await login.succeed("busctl --user call \(bus) StartServiceByName su org.permd.Agent 0")
        let unit = try await login.succeed("systemctl --user show --value --property ActiveState permd-agent")
        #expect(unit == "active")
        // It has its name a moment before it has registered.
        try await login.succeed("until permctl doctor | grep -q 'ok  agent .*desktop agent'; do sleep 0.05; done")
        await login.end()
    }
}
