// What permctl doctor finds about permd-gate, which asks about programs that use Bluetooth or the location.

import DesktopServices
import Glibc

extension Finding {
    static func about(_ gates: [ServiceGate]) -> [Finding] {
        let known = gates.filter { $0.state == .before || isInstalled($0) }
        guard !known.isEmpty || gates.isEmpty else {
            return [
                Finding(
                    .information, "gate-absent",
                    "programs outside sandboxes are not asked about when they use Bluetooth or the location",
                    advice: "install permd-gate to be asked")
            ]
        }
        return known.map { gate in
            switch gate.state {
            case .before: Finding(.good, "gate", "permd-gate stands before \(gate.subject)")
            case .idle: Finding(.good, "gate", "permd-gate stands before \(gate.subject) as soon as that is used")
            case .besides:
                Finding(
                    .bad, "gate-besides", "\(gate.service).service was started without permd-gate",
                    advice: "run systemctl restart \(gate.service).service")
            }
        }
    }

    private static func isInstalled(_ gate: ServiceGate) -> Bool {
        ["/etc", "/run", "/usr/local/lib", "/usr/lib"].contains {
            access("\($0)/systemd/system/\(gate.unit).socket", F_OK) == 0
        }
    }
}
