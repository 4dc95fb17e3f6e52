// What permctl doctor finds about permd-guard, which asks about programs that open device nodes themselves.

import DesktopServices
import Glibc
import PermissionClient

extension Finding {
    static func about(_ deviceGuard: DeviceGuard) -> [Finding] {
        switch deviceGuard {
        case .absent(let hasBus) where isInstalled:
            return [
                Finding(
                    hasBus ? .bad : .information, "guard-missing", "permd-guard is installed, but does not run",
                    advice: "run systemctl start permd-guard; if that fails, see journalctl -u permd-guard")
            ]
        case .absent:
            return [
                Finding(
                    .information, "guard-absent",
                    "programs outside sandboxes are not asked about when they open device nodes themselves",
                    advice: "install permd-guard to be asked")
            ]
        case .silent:
            return [Finding(.bad, "guard-silent", "permd-guard does not answer", advice: restart)]
        case .running(let version, let problems):
            let state =
                version == Permctl.version
                ? Finding(.good, "guard", "permd-guard \(version) is running")
                : Finding(
                    .bad, "guard-version", "permd-guard \(version) is running, but permctl is \(Permctl.version)",
                    advice: restart)
            return [state]
                + problems.map { Finding(.bad, "guard-problem", $0, advice: "see journalctl -u permd-guard") }
        }
    }

    private static let restart = "run systemctl restart permd-guard"

    private static var isInstalled: Bool {
        ["/etc", "/run", "/usr/local/lib", "/usr/lib"].contains {
            access("\($0)/systemd/system/permd-guard.service", F_OK) == 0
        }
    }
}
