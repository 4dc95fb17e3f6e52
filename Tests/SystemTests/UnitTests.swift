// permd.service under a real user manager: start, restrictions, reload, watchdog, restart.

import DBus
import Foundation
import PermissionTestKit
import TestSupport
import Testing

// Serialized because each test starts a whole user manager, which takes processor time from the tests beside it.
@Suite(.serialized, .timeLimit(.minutes(3)))
@LoopActor
struct UnitTests {
    @Test func permdRunsAfterLogin() async throws {
        let login = try await Login()
        #expect(try await login.unit("ActiveState") == "active")
        #expect(try await login.unit("StatusText") == "Serving org.permd")
        #expect(try await login.succeed("permctl status") == "Nothing was decided yet.")
        await login.end()
    }

    @Test func theBusStartsPermd() async throws {
        let login = try await Login(enabled: false)
        #expect(try await login.unit("ActiveState") == "inactive")
        try await login.succeed("permctl status")
        #expect(try await login.unit("ActiveState") == "active")
        let pid = try await login.unit("MainPID")
        #expect(try await login.succeed("readlink /proc/\(pid)/exe") == "\(login.home)/.local/libexec/permd")
        // Stopping the unit is not a failure, and the next call starts it again.
        try await login.succeed("permctl grant exe:/usr/bin/a camera && systemctl --user stop permd")
        #expect(try await login.unit("Result") == "success")
        #expect(try await login.succeed("permctl status exe:/usr/bin/a").contains("granted"))
        #expect(try await login.unit("MainPID") != pid)
        await login.end()
    }

    @Test func permdIsLockedDown() async throws {
        let login = try await Login()
        let pid = try await login.unit("MainPID")
        let status = try await login.succeed("cat /proc/\(pid)/status").split(separator: "\n")
        for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"] {
            #expect(status.contains { $0 == line }, "\(line)")
        }
        // Only the user may access the stored decisions, whatever umask the login has.
        #expect(try await login.succeed("stat -c %a \(login.state) \(login.state)/permd.db") == "700\n600")
        // The score that a user manager can reach; comments in the unit give the reason for each option left out.
        try await login.succeed("systemd-analyze --user security --no-pager --threshold=60 permd.service")
        #expect(
            try await login.succeed(
                "systemd-analyze --user verify permd.service permd-agent.service permd-indicator.service") == "")
        await login.end()
    }

    @Test func reloadKeepsTheProcess() async throws {
        let login = try await Login()
        let pid = try await login.unit("MainPID")
        try await login.succeed("systemctl --user reload permd")
        // systemctl returns once the signal is sent; permd tells the begin and the end of its reload.
        try await waitUntil("permd to have reloaded") { try await login.unit("ActiveState") == "active" }
        #expect(try await login.unit("MainPID") == pid)
        #expect(try await login.unit("NRestarts") == "0")
        await login.end()
    }

    /// After being killed or hanging, permd is restarted and has every decision that it acknowledged.
    @Test(arguments: ["KILL", "STOP"])
    func systemdRestartsPermd(_ signal: String) async throws {
        // Longer than a busy machine delays a healthy daemon.
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

    /// After an exit because of wrong arguments, systemd does not restart permd.
    @Test func wrongArgumentsPreventRestarts() async throws {
        let login = try await Login("ExecStart=\nExecStart=%h/.local/libexec/permd --nonsense", enabled: false)
        #expect(try await login.run("systemctl --user start permd").status != 0)
        #expect(try await login.unit("ActiveState") == "failed")
        #expect(try await login.unit("ExecMainStatus") == "64")
        #expect(try await login.unit("NRestarts") == "0")
        await login.end()
    }

    nonisolated static let hasAgent = FileManager.default.fileExists(atPath: BuiltProgram.path("permd-agent"))

    /// Without a display, permd-agent exits with status 69.
    @Test(.enabled(if: hasAgent))
    func theAgentWithoutADisplay() async throws {
        let login = try await Login(enabled: false)
        #expect(try await login.run("systemctl --user start permd-agent").status != 0)
        let status = try await login.succeed(
            "systemctl --user show --value --property ExecMainStatus --property UnitFileState permd-agent")
        #expect(Set(status.split(separator: "\n")) == ["69", "static"])
        await login.end()
    }

    /// The bus starts permd-agent through its unit; under the unit's restrictions, the agent runs and registers.
    @Test(.enabled(if: hasAgent))
    func theBusStartsTheAgent() async throws {
        let login = try await Login()
        try await login.succeed(
            """
            mkfifo $HOME/display
            Xvfb -displayfd 3 -nolisten tcp 3>$HOME/display >/dev/null 2>&1 &
            read -r display <$HOME/display && systemctl --user set-environment DISPLAY=:$display
            """)
        #expect(try await login.succeed("permctl doctor || true").contains("the bus starts one when a prompt is due"))
        let bus = "org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus"
        try await login.succeed("busctl --user call \(bus) StartServiceByName su org.permd.Agent 0")
        let unit = try await login.succeed("systemctl --user show --value --property ActiveState permd-agent")
        #expect(unit == "active")
        // The agent owns its bus name a moment before it is registered.
        try await login.until("the agent", "permctl doctor | grep 'ok  agent .*desktop agent'")
        await login.end()
    }

    /// The first use starts the indicator through its unit, under its restrictions, and it ends by itself. A masked unit
    /// is no error.
    @Test func theIndicatorRunsWhileSomethingIsInUse() async throws {
        let login = try await Login()
        // The use ends when busctl leaves the bus.
        let use = """
            busctl --user call org.permd /org/permd org.permd.Enforcement1 ReportUse 'vsa{sv}' \
                s flatpak:org.example.App camera 1 source s test
            """
        let state = "systemctl --user show --value --property ActiveState permd-indicator"
        try await login.succeed(use)
        for wanted in ["active", "inactive"] {
            try await login.until("the indicator to be \(wanted)", "[ $(\(state)) = \(wanted) ]")
        }
        let end = "systemctl --user show --value --property Result --property ExecMainStatus permd-indicator"
        #expect(try await login.succeed(end).split(separator: "\n") == ["success", "0"])
        try await login.succeed("systemctl --user mask permd-indicator.service && \(use)")
        let start = "busctl --user call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus"
        #expect(try await login.run("\(start) StartServiceByName su org.permd.Indicator 0").status != 0)
        #expect(try await login.succeed(state) == "inactive")
        #expect(try await login.unit("NRestarts") == "0")
        await login.end()
    }

    /// permctl portal changes the environment of the running xdg-desktop-portal, and changes it back.
    @Test func portalsAreSwitchedWhileTheyRun() async throws {
        let login = try await Login()
        try await login.succeed(
            """
            mkdir -p portal/libexec portal/share/xdg-desktop-portal/portals .local/share/dbus-1/services
            ln -s /bin/sleep portal/libexec/sleep
            printf '#!/bin/sh\necho xdg-desktop-portal 1.16.0\n' >portal/libexec/xdg-desktop-portal
            chmod +x portal/libexec/xdg-desktop-portal
            ln -s $HOME/.local/share/xdg-desktop-portal/portals/permd.portal portal/share/xdg-desktop-portal/portals/
            printf '[D-BUS Service]\nName=org.freedesktop.portal.Desktop\nExec=%s\n' \
                $HOME/portal/libexec/xdg-desktop-portal >.local/share/dbus-1/services/org.freedesktop.portal.Desktop.service
            printf '[Service]\nType=exec\nExecStart=%s infinity\n' $HOME/portal/libexec/sleep \
                >.config/systemd/user/xdg-desktop-portal.service
            systemctl --user daemon-reload
            systemctl --user set-environment XDG_CURRENT_DESKTOP=GNOME
            systemctl --user start xdg-desktop-portal
            """)
        func desktop() async throws -> String {
            let show = "systemctl --user show --value --property MainPID xdg-desktop-portal"
            return try await login.succeed("tr '\\0' '\\n' </proc/$(\(show))/environ | grep ^XDG_CURRENT_DESKTOP=")
        }
        #expect(try await desktop() == "XDG_CURRENT_DESKTOP=GNOME")
        let enabled = try await login.succeed("permctl portal enable")
        #expect(enabled.contains("restarted xdg-desktop-portal.service"), "\(enabled)")
        #expect(try await desktop() == "XDG_CURRENT_DESKTOP=permd:GNOME")
        try await login.succeed("permctl portal disable")
        #expect(try await desktop() == "XDG_CURRENT_DESKTOP=GNOME")
        #expect(try await login.run("test -e .config/systemd/user/xdg-desktop-portal.service.d").status == 1)
        await login.end()
    }

    /// With permd installed in a home, the installed xdg-desktop-portal finds it there. PortalChoiceTests show that it then
    /// uses it; here it would first wait for backends that need a display.
    @Test func portalsFindPermdInAHome() async throws {
        let login = try await Login()
        try await login.succeed("systemctl --user set-environment XDG_CURRENT_DESKTOP=GNOME && permctl portal enable")
        try await login.succeed(
            """
            export $(systemctl --user show --value --property Environment xdg-desktop-portal)
            mkfifo portal.log
            /usr/libexec/xdg-desktop-portal --verbose >portal.log 2>&1 &
            grep -q 'loading .*/permd.portal' portal.log || exit
            # Unless it has ended already, as nobody reads its log any more.
            kill $! || true
            """)
        await login.end()
    }
}
