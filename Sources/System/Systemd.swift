// Whether systemd manages services here, so that advice may name its commands.

import Glibc

package enum Systemd {
    /// As sd_booted(3) finds out.
    package static var isRunning: Bool { access("/run/systemd/system", F_OK) == 0 }

    /// The command that lets permd read its files again.
    package static var reloadPermd: String {
        isRunning ? "systemctl --user reload permd" : "pkill -HUP -u $(id -u) -x permd"
    }
}
