// Whether a process is the main one of a service of its user's systemd: what anybody can start is not.

import PermissionModel
import System

package struct SessionUnit {
    private let reader: ProcessReader

    package init(reader: ProcessReader) { self.reader = reader }

    /// Whether a process is the main one of the service NAME.service, or of an instance of NAME@.service.
    ///
    /// systemd starts it itself, so it is a child of the user manager, which is one of the system's.
    package func isMain(_ pid: Int32, of name: String) -> Bool {
        guard let groups = try? reader.controlGroups(pid), let unit = ControlGroups(groups).userUnit,
            SessionUnit.isInstance(unit, of: name), let manager = try? reader.parent(pid), isManager(manager)
        else { return false }
        return true
    }

    static func isInstance(_ unit: ControlGroups.Text, of name: String) -> Bool {
        let suffix = Array(".service".utf8)
        guard unit.suffix(suffix.count).elementsEqual(suffix) else { return false }
        return unit.dropLast(suffix.count).prefix { $0 != UInt8(ascii: "@") }.elementsEqual(name.utf8)
    }

    /// Whether a process is a user manager: systemd starts it, and only that.
    private func isManager(_ pid: Int32) -> Bool {
        guard let path = reader.systemExecutable(pid), let parent = try? reader.parent(pid) else { return false }
        return Folders.fileName(of: path) == "systemd" && parent == 1
    }
}
