// The running instance of a sandboxed app: a decision `once` is about all of its processes.

import PermissionModel
import System

extension AppIdentity {
    /// Larger than any that flatpak writes.
    private static let maximumInstanceFile = 16 << 10
    /// A snap with more processes than this has no instance that is told apart.
    private static let maximumProcesses = 512
    private static let maximumInstanceID = 64

    /// The process that stands for the instance, whichever of its processes asks: the one that flatpak started in the
    /// sandbox, or the oldest in a snap's scope. Nil if it cannot be told: then each process asks for itself.
    ///
    /// - Parameter info: The process's own /.flatpak-info.
    func instance(of app: AppID, _ evidence: ProcessEvidence, info: [UInt8]?) -> ProcessKey? {
        if let info { return flatpakInstance(of: app, info) }
        guard app.kind == .snap, let scope = ControlGroups(evidence.controlGroups).snapScope else { return nil }
        return oldest(in: scope)
    }

    /// The file that flatpak writes about an instance names its process; the process itself shows that it is one of this
    /// app and instance.
    private func flatpakInstance(of app: AppID, _ info: [UInt8]) -> ProcessKey? {
        guard let runtime, let id = AppIdentity.instanceID(info),
            let file = try? RegularFile.read(
                "\(runtime)/.flatpak/\(id)/bwrapinfo.json", maximum: AppIdentity.maximumInstanceFile),
            let pid = AppIdentity.childPid(file), let process = try? reader.key(pid),
            let other = try? reader.flatpakInfo("\(pid)"), (try? AppIdentity.flatpak(other)) == app,
            AppIdentity.instanceID(other) == id, reader.isThere(process)
        else { return nil }
        return process
    }

    /// `instance-id` of the group [Instance] (flatpak-metadata(5)).
    private static func instanceID(_ info: [UInt8]) -> String? {
        guard let id = (try? KeyFile(info))?.string("instance-id", in: "Instance"),
            (1...maximumInstanceID).contains(id.utf8.count), id.utf8.allSatisfy(isAlphanumeric)
        else { return nil }
        return id
    }

    /// The number `child-pid` of a JSON object without nested ones, as bwrap(1) writes it (`--info-fd`).
    static func childPid(_ file: [UInt8]) -> Int32? {
        for member in file.split(whereSeparator: { "{},".utf8.contains($0) }) {
            let parts = member.split(separator: UInt8(ascii: ":")).map { part in
                String(decoding: part.filter { !" \t\r\n".utf8.contains($0) }, as: UTF8.self)
            }
            if parts.count == 2, parts[0] == "\"child-pid\"" { return Int32(parts[1]).flatMap { $0 > 0 ? $0 : nil } }
        }
        return nil
    }

    /// The oldest process of a control group in the unified hierarchy.
    private func oldest(in group: String) -> ProcessKey? {
        guard let text = try? reader.read("\(groups)\(group)/cgroup.procs") else { return nil }
        let pids = text.split(separator: UInt8(ascii: "\n")).compactMap { Int32(String(decoding: $0, as: UTF8.self)) }
        guard pids.count <= AppIdentity.maximumProcesses else { return nil }
        return pids.compactMap { try? reader.key($0) }.min { ($0.startTime, $0.pid) < ($1.startTime, $1.pid) }
    }
}
