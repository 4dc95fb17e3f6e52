// The words of the rules as the numbers that the BPF programs use (bpf/guard.h).

import CGuard
import GuardRules
import PermissionModel

enum GuardKinds {
    static func permission(_ kind: UInt32) -> Permission? {
        switch guard_kind(kind & GUARD_KIND_MASK.rawValue) {
        case GUARD_CAMERA: .camera
        case GUARD_MICROPHONE: .microphone
        case GUARD_LOCATION: .location
        case GUARD_BLUETOOTH: .bluetooth
        default: nil
        }
    }

    private static func kind(_ permission: Permission) -> guard_kind {
        switch permission {
        case .camera: GUARD_CAMERA
        case .microphone: GUARD_MICROPHONE
        case .location: GUARD_LOCATION
        case .bluetooth: GUARD_BLUETOOTH
        // There is nothing to open.
        default: GUARD_NOTHING
        }
    }

    static func program(_ process: guard_process) -> ProcessImage {
        ProcessImage(pid: Int32(bitPattern: process.pid), start: process.start, exec: process.exec)
    }

    static func key(_ program: ProcessImage, _ permission: Permission) -> guard_verdict_key {
        guard_verdict_key(
            process: guard_process(
                start: program.start, pid: UInt32(bitPattern: program.pid), exec: program.exec),
            kind: kind(permission).rawValue, unused: 0)
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
