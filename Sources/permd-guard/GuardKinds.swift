// The words of the rules as the numbers that the BPF programs use (bpf/guard.h).

import CGuard
import GuardRules
import PermissionModel

enum GuardKinds {
    private static let kinds: [Permission: guard_kind] = [
        .camera: GUARD_CAMERA, .microphone: GUARD_MICROPHONE, .location: GUARD_LOCATION, .bluetooth: GUARD_BLUETOOTH,
    ]

    static func permission(_ kind: UInt32) -> Permission? {
        kinds.first { $0.value.rawValue == kind & GUARD_KIND_MASK.rawValue }?.key
    }

    static func program(_ process: guard_process) -> ProcessImage {
        ProcessImage(pid: Int32(bitPattern: process.pid), start: process.start, exec: process.exec)
    }

    static func key(_ program: ProcessImage, _ permission: Permission) -> guard_verdict_key {
        guard_verdict_key(
            process: guard_process(
                start: program.start, pid: UInt32(bitPattern: program.pid), exec: program.exec),
            kind: (kinds[permission] ?? GUARD_NOTHING).rawValue, unused: 0)
    }

    static func value(_ verdict: GuardVerdict) -> guard_verdict {
        switch verdict {
        case .grant: GUARD_GRANT
        case .deny: GUARD_DENY
        case .cut: GUARD_CUT
        }
    }

    static func verdict(_ value: UInt32) -> GuardVerdict? {
        GuardVerdict.allCases.first { self.value($0).rawValue == value }
    }

    /// Nil: it waits no more, and its call is decided anew.
    static func claim(_ release: Release) -> guard_claim? {
        switch release {
        case .again: nil
        case .refused: GUARD_GIVEN_UP
        case .interrupted: GUARD_INTERRUPTED
        }
    }
}
