// The systemd user units of programs that belong to permd.

import Glibc

enum UserUnits {
    /// The enforcement points that permd provides. Each has a unit of its name.
    static let enforcementPoints = ["permd-pipewire"]

    /// Whether a unit file of that name exists in a folder that systemd reads (systemd.unit(5)).
    static func isInstalled(_ name: String) -> Bool {
        let home = variable("HOME") ?? "/"
        let config = variable("XDG_CONFIG_HOME") ?? home + "/.config"
        let data = variable("XDG_DATA_HOME") ?? home + "/.local/share"
        let folders = [config, "/etc", "/run", data, "/usr/local/lib", "/usr/lib"]
        return folders.contains { access("\($0)/systemd/user/\(name).service", F_OK) == 0 }
    }

    private static func variable(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
