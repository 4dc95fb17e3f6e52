// What the kernel alone says about a process. Reading it never blocks, whatever the process does: its files, its command
// line and its environment are not read, which may lie on a file system that hangs.

import PermissionModel

struct ProcessEvidence: Sendable {
    let key: ProcessKey
    /// `/proc/PID/cgroup`
    let controlGroups: [UInt8]
    /// Empty without a security module.
    let label: [UInt8]
    /// Whether it is in this PID namespace.
    let sharesPids: Bool
    /// The mount namespace; empty if that may not be read.
    let mounts: [UInt8]
    /// The link of the executable; nil if that may not be read.
    let executable: [UInt8]?
    /// Whether nothing else has to be read: the process has the files of the system, and runs no script.
    let isImmediate: Bool

    /// Its app or sandbox, which it cannot leave.
    var sharer: String { String(decoding: controlGroups, as: UTF8.self) }
    /// What its files depend on: whoever makes them hang makes them hang for these processes only.
    var subject: String { String(decoding: controlGroups + mounts, as: UTF8.self) }
}

extension AppIdentity {
    /// - Parameter label: The security label that the process had when it connected; nil for the one that it has now.
    func evidence(_ pid: Int32, label: [UInt8]? = nil) throws(UnknownProcess) -> ProcessEvidence {
        let mounts = (try? reader.text(ofLink: "\(reader.root)/\(pid)/ns/mnt")) ?? []
        let folder = try? reader.text(ofLink: "\(reader.root)/\(pid)/root")
        let hasSystemFiles =
            folder == [UInt8(ascii: "/")] && mounts == (try? reader.text(ofLink: "\(reader.root)/self/ns/mnt"))
        let executable = try? reader.executableLink(pid)
        let controlGroups = try reader.controlGroups(pid)
        let sharesPids = (try? reader.sharesPids(pid)) ?? false
        let label = label ?? reader.securityLabel(pid)
        // Whether a snap is confined is in a file of it.
        let isOfSnap = !ControlGroups(controlGroups).snaps.union(AppIdentity.snaps(ofLabel: label)).isEmpty
        let isPlain = executable.map(AppIdentity.isProgram) ?? false && !isOfSnap
        return ProcessEvidence(
            key: try reader.key(pid), controlGroups: controlGroups,
            label: label, sharesPids: sharesPids,
            mounts: mounts,
            executable: executable, isImmediate: hasSystemFiles && isPlain && sharesPids)
    }
}
