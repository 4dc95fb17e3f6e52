// Determines which app a process is, using the first identity form of the contract that applies.

package import PermissionModel
import System

/// A process, and the app that it is.
package struct IdentifiedProcess: Sendable {
    package let key: ProcessKey
    package let app: AppID
    /// What a decision `once` is about: the process, or the one that stands for the running instance of its sandbox.
    package let instance: ProcessKey
    /// Whether it is in a sandbox that names no app: it counts as sandboxed, and its app stands for any program.
    package let mayBeSandboxed: Bool
}

package struct AppIdentity: Sendable {
    package let reader: ProcessReader

    /// `$XDG_RUNTIME_DIR`, in which flatpak describes its instances; nil if there is none.
    let runtime: String?
    /// Where the control groups are.
    let groups: String
    /// Where snaps are mounted; distributions differ.
    let snapFolders: [String]

    /// - Parameters:
    ///   - runtime: Another folder than `$XDG_RUNTIME_DIR` only in tests.
    ///   - groups: Another folder than that of the system only in tests.
    ///   - snapFolders: Other folders than those of the system only in tests.
    package init(
        reader: ProcessReader = ProcessReader(), runtime: String? = Folders.path("XDG_RUNTIME_DIR"),
        groups: String = "/sys/fs/cgroup", snapFolders: [String] = ["/snap", "/var/lib/snapd/snap"]
    ) {
        self.reader = reader
        self.runtime = runtime
        self.groups = groups
        self.snapFolders = snapFolders
    }

    /// Proxies forward messages of sandboxed programs under their own bus name. They are identified by file name,
    /// because paths differ between distributions. Flatpak runs its own within the app's sandbox, which identifies the
    /// app.
    static let proxies: Set<String> = ["xdg-dbus-proxy", "flatpak-dbus-proxy"]

    /// Identifies a process while its pidfd shows that it lives, so that no other process has its ID meanwhile. Files that
    /// the process may have placed are read, so this may block.
    ///
    /// - Parameters:
    ///   - pidfd: Refers to the process, and stays the caller's.
    ///   - label: The security label that the process had when it connected; nil for the one that it has now.
    package func process(
        _ pid: Int32, under pidfd: Int32, label: [UInt8]? = nil
    ) throws(UnknownProcess) -> IdentifiedProcess {
        try process(evidence(pid, label: label), under: pidfd)
    }

    func process(_ evidence: ProcessEvidence, under pidfd: Int32) throws(UnknownProcess) -> IdentifiedProcess {
        let info = try reader.flatpakInfo("\(evidence.key.pid)")
        if !evidence.sharesPids, info == nil, sandboxes(evidence).isEmpty {
            guard let outermost = try reader.ancestors(of: evidence.key.pid).last else {
                throw UnknownProcess(reason: "it is in a sandbox that does not identify its app")
            }
            let program = try reader.executable(outermost.pid)
            guard reader.isThere(outermost) else { throw UnknownProcess(reason: "its parents are exiting") }
            return try process(evidence, running: program, under: pidfd)
        }
        let app = try app(evidence, info: info) { () throws(UnknownProcess) in try program(evidence.key.pid) }
        if !app.isSandboxed { try AppIdentity.checkIsNoProxy(reader.executable(evidence.key.pid)) }
        let instance = app.isSandboxed ? instance(of: app, evidence, info: info) : nil
        return try settled(
            IdentifiedProcess(
                key: evidence.key, app: app, instance: instance ?? evidence.key, mayBeSandboxed: false), pidfd)
    }

    /// The same from what cannot block; nil if files that the process may have placed have to be read.
    func processAtOnce(_ evidence: ProcessEvidence, under pidfd: Int32) throws(UnknownProcess) -> IdentifiedProcess? {
        guard evidence.isImmediate, let executable = evidence.executable else { return nil }
        // Its root is that of this process, wherever its own leads by now.
        let app = try app(evidence, info: reader.flatpakInfo("self")) {
            .executable(StorePath.withoutVersion(executable))
        }
        try AppIdentity.checkIsNoProxy(executable)
        return try settled(
            IdentifiedProcess(key: evidence.key, app: app, instance: evidence.key, mayBeSandboxed: false), pidfd)
    }

    /// Identifies a process that runs with rights that keep this one from looking at it, by the executable that a program with
    /// more rights names, or one in a PID namespace of its own, as in a container, by the program that made the outermost
    /// such namespace. What can be read nevertheless may say that it is in a sandbox: then it is nobody.
    func process(
        _ evidence: ProcessEvidence, running program: [UInt8], under pidfd: Int32
    ) throws(UnknownProcess) -> IdentifiedProcess {
        guard program.first == UInt8(ascii: "/"), evidence.executable == nil || !evidence.sharesPids,
            sandboxes(evidence).isEmpty
        else { throw UnknownProcess(reason: "its own files say who it is, or nothing does") }
        if evidence.executable != nil {
            // It may have left the root that has the file, but not the process that started the sandbox.
            for process in try [evidence.key] + reader.ancestors(of: evidence.key.pid).dropLast()
            where try reader.flatpakInfo("\(process.pid)") != nil {
                throw UnknownProcess(reason: "it is in a flatpak but hides its .flatpak-info")
            }
        }
        return try settled(
            IdentifiedProcess(
                key: evidence.key, app: .executable(StorePath.withoutVersion(program)), instance: evidence.key,
                mayBeSandboxed: !evidence.sharesPids), pidfd)
    }

    /// The sandboxes that the kernel says it is in.
    private func sandboxes(_ evidence: ProcessEvidence) -> Set<String> {
        let groups = ControlGroups(evidence.controlGroups)
        return Set(snaps(evidence, groups).map(\.name) + groups.flatpaks.map { String(decoding: $0, as: UTF8.self) })
    }

    /// The snaps that confine it.
    private func snaps(_ evidence: ProcessEvidence, _ groups: ControlGroups) -> Set<AppID> {
        let labelled = AppIdentity.snaps(ofLabel: evidence.label)
        let enforced = AppIdentity.isEnforced(evidence.label) ? labelled : []
        return groups.snaps.union(labelled).filter { enforced.contains($0) || !isClassic($0) }
    }

    private func settled(_ found: IdentifiedProcess, _ pidfd: Int32) throws(UnknownProcess) -> IdentifiedProcess {
        guard Pidfd.isAlive(pidfd) else { throw UnknownProcess(reason: "its process has exited") }
        return found
    }

    /// Evidence that the process cannot change takes precedence. If signs of different sandboxes contradict each other,
    /// the process is not identified.
    ///
    /// - Parameter info: Its /.flatpak-info; nil if there is none.
    private func app(
        _ evidence: ProcessEvidence, info: [UInt8]?, program: () throws(UnknownProcess) -> AppID
    ) throws(UnknownProcess) -> AppID {
        let groups = ControlGroups(evidence.controlGroups)
        let snaps = snaps(evidence, groups)
        guard snaps.count + (info != nil || !groups.flatpaks.isEmpty ? 1 : 0) <= 1 else {
            throw UnknownProcess(reason: "it shows signs of several sandboxes")
        }
        if let snap = snaps.first { return snap }
        if let info { return try AppIdentity.flatpak(info, of: groups.flatpaks) }
        guard groups.flatpaks.isEmpty else {
            throw UnknownProcess(reason: "it is in a flatpak scope but has no /.flatpak-info")
        }
        guard evidence.sharesPids else {
            throw UnknownProcess(reason: "it is in a sandbox that does not identify its app")
        }
        return try program()
    }

    /// A program outside any sandbox that only forwards messages of others does not tell whose they are: two programs behind
    /// two of them are not one app.
    private static func checkIsNoProxy(_ executable: [UInt8]) throws(UnknownProcess) {
        guard !proxies.contains(Folders.fileName(of: executable)) else {
            throw UnknownProcess(reason: "it is a proxy of a sandbox that does not identify its app")
        }
    }

    // MARK: Sandboxes

    /// Returns `name` of the group [Application] (flatpak-metadata(5)), which must match the scope it runs in, if any.
    static func flatpak(_ info: [UInt8], of scopes: Set<[UInt8]> = []) throws(UnknownProcess) -> AppID {
        let file: KeyFile
        do throws(FileProblem) { file = try KeyFile(info) } catch {
            throw UnknownProcess(reason: "its .flatpak-info is not a valid key file: \(error.message)")
        }
        guard let name = file.string("name", in: "Application"), isFlatpakName(name), let app = AppID("flatpak:\(name)")
        else { throw UnknownProcess(reason: "its .flatpak-info names no valid application") }
        guard scopes.allSatisfy({ $0.elementsEqual(name.utf8) }) else {
            throw UnknownProcess(reason: "its .flatpak-info names another app than its flatpak scope")
        }
        return app
    }

    /// The characters of a D-Bus name: letters, digits, `_`, `-` and `.`, with at least one dot.
    private static func isFlatpakName(_ name: String) -> Bool {
        name.utf8.count <= 255 && name.utf8.contains(UInt8(ascii: "."))
            && name.utf8.allSatisfy { isAlphanumeric($0) || "._-".utf8.contains($0) }
    }

    /// Returns the snaps of an AppArmor label `snap.NAME.APP (mode)`, which may have a namespace before it and be
    /// stacked with `//&`. The bus includes the NUL.
    static func snaps(ofLabel label: [UInt8]) -> Set<AppID> {
        var found: Set<AppID> = []
        for profile in label.prefix(while: { $0 != 0 }).split(separator: UInt8(ascii: "&")) {
            let names = profile.split { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
            guard let bare = names.first(where: { $0.starts(with: "snap.".utf8) }) else { continue }
            let parts = bare.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
            if parts.count >= 3, let snap = ControlGroups.snap(named: parts[1]) { found.insert(snap) }
        }
        return found
    }

    /// Whether a snap is not confined (classic), and so are the programs that it starts, as its description says (snap.yaml),
    /// which is root's.
    private func isClassic(_ snap: AppID) -> Bool {
        snapFolders.contains { folder in
            let file = try? RegularFile.read("\(folder)/\(snap.name)/current/meta/snap.yaml", maximum: 1 << 20)
            return file?.split(separator: UInt8(ascii: "\n")).contains { $0.elementsEqual("confinement: classic".utf8) }
                ?? false
        }
    }

    /// Whether a security module enforces the profile of this label, `NAME (enforce)`.
    private static func isEnforced(_ label: [UInt8]) -> Bool {
        String(decoding: label.prefix { $0 != 0 }, as: UTF8.self).hasSuffix("(enforce)")
    }

    // MARK: Paths

    /// Returns the absolute path without `.`, `..` and double slashes.
    static func absolute(_ path: [UInt8], from folder: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        let whole = path.first == slash ? path : folder + [slash] + path
        var parts: [ArraySlice<UInt8>] = []
        for part in whole.split(separator: slash) {
            switch String(decoding: part, as: UTF8.self) {
            case ".": continue
            case "..": _ = parts.popLast()
            default: parts.append(part)
            }
        }
        return parts.isEmpty ? [slash] : parts.flatMap { [slash] + $0 }
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}
