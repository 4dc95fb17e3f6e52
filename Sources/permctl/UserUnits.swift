// The systemd user units of programs that belong to permd.

import Glibc
import System

enum UserUnits {
    /// The enforcement points that permd provides. Each has a unit of its name.
    static let enforcementPoints = ["permd-pipewire"]

    /// What a person does when a program of permd does not run.
    static func startAdvice(_ program: String) -> String {
        Systemd.isRunning
            ? "run systemctl --user start \(program); if that fails, see journalctl --user -u \(program)"
            : "start \(program) in this session, and read what it prints"
    }

    static var restartPermd: String {
        Systemd.isRunning ? "run systemctl --user restart permd" : "end permd; the bus starts it again"
    }

    /// The folders that systemd reads for the user's units (systemd.unit(5)), those that take precedence first.
    static var folders: [String] {
        [Folders.config, "/etc", "/run", Folders.data, "/usr/local/lib", "/usr/lib"].map { "\($0)/systemd/user" }
    }

    /// Whether a unit file of that name exists in one of them.
    static func isInstalled(_ name: String) -> Bool {
        folders.contains { access("\($0)/\(name).service", F_OK) == 0 }
    }
}
