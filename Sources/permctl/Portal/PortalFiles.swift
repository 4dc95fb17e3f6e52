// portals.conf(5): which of its files count, and what they say about access dialogs.

import System

struct PortalFiles {
    let installation: PortalInstallation

    /// The user's own folder, which takes precedence.
    private static var own: String { "\(Folders.config)/xdg-desktop-portal" }

    private var folders: [String] {
        let prefix = installation.prefix
        let shared = Folders.configs + [prefix == "/usr" ? "/etc" : "\(prefix)/etc"]
        let data = [Folders.data] + Folders.datas + ["\(prefix)/share"]
        return [PortalFiles.own] + (shared + data).map { "\($0)/xdg-desktop-portal" }
    }

    /// The file of a folder that counts: the first one with the group.
    private func path(in folder: String, _ read: (String) -> KeyFile? = { KeyFile(path: $0) }) -> String? {
        (installation.desktops.map { "\($0.lowercased())-portals.conf" } + ["portals.conf"]).map { "\(folder)/\($0)" }
            .first { read($0)?.hasGroup("preferred") == true }
    }

    /// The backends that a file prefers for access dialogs; nil if it does not say.
    private func backends(_ path: String) -> [String]? {
        let file = KeyFile(path: path)
        let list = [PortalInstallation.access, "default"].lazy.compactMap { file?.string($0, in: "preferred") }.first
        return list?.split(separator: ";").map(String.init)
    }

    /// The file that decides about access dialogs, and the backends that it prefers; nil if none does.
    var deciding: (path: String, backends: [String])? {
        let found = folders.compactMap { path(in: $0) }.map { ($0, backends($0)) }
        let deciding = installation.combinesFiles ? found.first { $0.1 != nil } : found.first
        return deciding.map { ($0.0, $0.1 ?? []) }
    }

    /// The user's file to change, and the lines to add to it. Where only one file counts, the user's file gets the text
    /// of the one that it takes the place of.
    func edit() throws(Failure) -> (file: ManagedFile, lines: String) {
        let lines = "[preferred]\n\(PortalInstallation.access)=\(PortalInstallation.backend)"
        let mine = path(in: PortalFiles.own, PortalFiles.original)
        if let mine { return (ManagedFile(path: mine), lines) }
        guard !installation.combinesFiles, let other = folders.dropFirst().compactMap({ path(in: $0) }).first,
            let text = try? RegularFile.read(other, maximum: ManagedFile.maximumRead)
        else { return (ManagedFile(path: "\(PortalFiles.own)/portals.conf"), lines) }
        let name = other.split(separator: "/").last ?? ""
        return (
            ManagedFile(path: "\(PortalFiles.own)/\(name)"), "\(String(decoding: text, as: UTF8.self))\n\(lines)"
        )
    }

    /// The user's file as it would be without the block of permctl.
    private static func original(_ path: String) -> KeyFile? {
        do throws(Failure) {
            return try ManagedFile(path: path).original().flatMap { try? KeyFile($0) }
        } catch {
            // It cannot be changed, but it counts.
            return KeyFile(path: path)
        }
    }

    /// The user's files that permctl may have changed.
    static var changeable: [ManagedFile] {
        Folders.names(in: own).filter { $0.hasSuffix("portals.conf") }.map { ManagedFile(path: "\(own)/\($0)") }
    }
}
