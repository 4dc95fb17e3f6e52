// Which app a process is: the contract's forms, the first that applies.

public import PermissionModel

/// Which app a process is, by what the kernel says about it.
public struct AppIdentity: Sendable {
    public let reader: ProcessReader

    public init(reader: ProcessReader = ProcessReader()) { self.reader = reader }

    /// Interpreters are told apart by the script they run; versions behind the name (python3.11) count as the name.
    static let interpreters: Set<String> = [
        "sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "busybox", "perl", "python", "ruby", "node", "nodejs",
        "lua",
        "luajit", "php", "tclsh", "wish", "guile", "gjs", "gjs-console", "pwsh", "deno", "bun", "Rscript", "osh",
    ]

    /// Passes on what sandboxed programs say, under its own name; by its file's name, as each distribution has it elsewhere.
    /// Flatpak runs its own within the app's sandbox, where the sandbox's signs count.
    static let proxies: Set<String> = ["xdg-dbus-proxy", "flatpak-dbus-proxy"]

    /// What the process cannot change comes first; signs of sandboxes that disagree make it nobody.
    ///
    /// - Parameter label: what the kernel's security module called the process when it connected, if the bus says so.
    public func app(of pid: Int32, label: [UInt8] = []) throws(UnknownProcess) -> AppID {
        let groups = try reader.controlGroups(pid)
        let info = try reader.flatpakInfo(pid)
        let snaps = groups.snaps.union(AppIdentity.snaps(ofLabel: label))
        guard snaps.count + (info != nil || !groups.flatpaks.isEmpty ? 1 : 0) <= 1 else {
            throw UnknownProcess(reason: "it has the signs of several sandboxes")
        }
        if let snap = snaps.first { return snap }
        if let info { return try AppIdentity.flatpak(info, of: groups.flatpaks) }
        guard groups.flatpaks.isEmpty else {
            throw UnknownProcess(reason: "it is in a flatpak's scope and hides its /.flatpak-info")
        }
        guard try reader.sharesPids(pid) else {
            throw UnknownProcess(reason: "it is in a sandbox that does not say which app it is")
        }
        if let desktop = groups.desktop { return desktop }
        return try program(pid)
    }

    /// Whether a program outside any sandbox only passes on what others say.
    public func isProxy(_ pid: Int32) throws(UnknownProcess) -> Bool {
        let path = try reader.executable(pid)
        let name = path.split(separator: UInt8(ascii: "/")).last ?? []
        return AppIdentity.proxies.contains { name.elementsEqual($0.utf8) }
    }

    // MARK: Sandboxes

    /// `name` of the group [Application] (flatpak-metadata(5)), which is the app of the scope it runs in, if it does.
    static func flatpak(_ info: [UInt8], of scopes: Set<[UInt8]> = []) throws(UnknownProcess) -> AppID {
        let file: KeyFile
        do throws(KeyFile.Refusal) { file = try KeyFile(info) } catch {
            throw UnknownProcess(reason: "its .flatpak-info is no key file: \(error.reason)")
        }
        guard let name = file.string("name", in: "Application"), isFlatpakName(name), let app = AppID("flatpak:\(name)")
        else { throw UnknownProcess(reason: "its .flatpak-info names no application") }
        guard scopes.allSatisfy({ $0.elementsEqual(name.utf8) }) else {
            throw UnknownProcess(reason: "its .flatpak-info is not of the flatpak whose scope it is in")
        }
        return app
    }

    /// Letters, digits, `_`, `-` and dots between: a D-Bus name's alphabet.
    private static func isFlatpakName(_ name: String) -> Bool {
        name.utf8.count <= 255 && name.utf8.contains(UInt8(ascii: "."))
            && name.utf8.allSatisfy { isAlphanumeric($0) || "._-".utf8.contains($0) }
    }

    /// The snaps of an AppArmor label `snap.NAME.APP (mode)`, with a namespace before it, several stacked by `//&`; the
    /// bus hands it on with its NUL.
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

    // MARK: Programs

    private func program(_ pid: Int32) throws(UnknownProcess) -> AppID {
        let path = try reader.executable(pid)
        guard AppIdentity.isInterpreter(path), let script = script(pid) else {
            return .executable(path)
        }
        return .executable(path, script: script)
    }

    static func isInterpreter(_ path: [UInt8]) -> Bool {
        guard let base = path.split(separator: UInt8(ascii: "/")).last else { return false }
        let name = String(decoding: base, as: UTF8.self)
        let bare = String(name.reversed().drop { $0.isNumber || $0 == "." || $0 == "-" }.reversed())
        return interpreters.contains(name) || interpreters.contains(bare)
    }

    /// The first argument, taken from the process's folder, if that is a file; with an option before it, none.
    private func script(_ pid: Int32) -> [UInt8]? {
        guard let arguments = try? reader.arguments(pid), arguments.count > 1, let first = arguments[1].first,
            first != UInt8(ascii: "-"), let folder = try? reader.workingDirectory(pid)
        else { return nil }
        let path = AppIdentity.absolute(arguments[1], from: folder)
        return reader.isFile(path, seenBy: pid) ? path : nil
    }

    /// The path without `.`, `..` and double slashes.
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
