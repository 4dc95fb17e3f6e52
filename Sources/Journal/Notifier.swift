// Reports a service's state to systemd (sd_notify(3)), and feeds the watchdog if systemd has enabled it.

import CLinux
import CSystemd
package import DBus
import Glibc

@LoopActor
package final class Notifier {
    private let status: String
    private var interval: Int64 = 0

    /// - Parameter status: What the service does once it is ready, for `systemctl status`.
    package init(status: String) { self.status = status }

    package func ready() {
        sd_notify(0, "READY=1\nSTATUS=\(status)")
        var microseconds: UInt64 = 0
        if interval == 0, sd_watchdog_enabled(0, &microseconds) > 0 {
            // Twice as often as required, so that systemd does not kill the service because of one late turn.
            interval = max(1, Int64(microseconds / 2000))
            feedWatchdog()
        }
    }

    package func reloading() {
        sd_notify(0, "RELOADING=1\nMONOTONIC_USEC=\(Loop.nanoseconds(of: CLOCK_MONOTONIC) / 1000)")
    }

    package func stopping() { sd_notify(0, "STOPPING=1") }

    private func feedWatchdog() {
        sd_notify(0, "WATCHDOG=1")
        Loop.shared.after(milliseconds: interval) { [weak self] in self?.feedWatchdog() }
    }
}
