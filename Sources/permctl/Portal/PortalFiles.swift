// portals.conf(5): which of its files count, and what they say about access dialogs.

struct PortalFile {
    let path: String
    /// The group `[preferred]`.
    let preferred: [String: String]

    /// The backends that the file prefers for access dialogs; nil if it does not say.
    var backends: [String]? { (preferred[PortalInstallation.access] ?? preferred["default"]).map(KeyFile.list) }
}

struct PortalFiles {
    let installation: PortalInstallation

    /// The user's own folder, which takes precedence.
    private static var own: String { "\(Folders.config)/xdg-desktop-portal" }

    private var folders: [String] {
        let prefix = installation.prefix
        let system = Folders.configs.map { "\($0)/xdg-desktop-portal" }
        let data = ([Folders.data] + Folders.datas + ["\(prefix)/share"]).map { "\($0)/xdg-desktop-portal" }
        return [PortalFiles.own] + system + ["\(prefix == "/usr" ? "" : prefix)/etc/xdg-desktop-portal"] + data
    }

    private var names: [String] { installation.desktops.map { "\($0.lowercased())-portals.conf" } + ["portals.conf"] }

    /// The file of a folder that counts: the first one that prefers something.
    private func file(in folder: String) -> PortalFile? {
        for name in names {
            guard let text = Folders.text("\(folder)/\(name)"), let preferred = KeyFile(text).groups["preferred"],
                !preferred.isEmpty
            else { continue }
            return PortalFile(path: "\(folder)/\(name)", preferred: preferred)
        }
        return nil
    }

    /// The file that decides about access dialogs; nil if none does.
    var deciding: PortalFile? {
        let found = folders.compactMap { file(in: $0) }
        guard installation.version >= .combinesFiles else { return found.first }
        return found.first { $0.backends != nil }
    }

    /// The user's file to change, and the lines to add to it. Where only one file counts, the user's file gets the lines
    /// of the one that it takes the place of.
    var change: (path: String, lines: [String]) {
        let line = "\(PortalInstallation.access)=\(PortalInstallation.backend)"
        if let mine = file(in: PortalFiles.own) { return (mine.path, ["[preferred]", line]) }
        guard installation.version < .combinesFiles, let other = folders.compactMap({ file(in: $0) }).first else {
            return ("\(PortalFiles.own)/portals.conf", ["[preferred]", line])
        }
        let name = other.path.split(separator: "/").last.map(String.init) ?? "portals.conf"
        return ("\(PortalFiles.own)/\(name)", substitute(for: other))
    }

    /// The lines of a file that takes the place of another one.
    func substitute(for other: PortalFile?) -> [String] {
        let kept = (other?.preferred ?? [:]).filter { $0.key != PortalInstallation.access }.sorted { $0.key < $1.key }
        return ["[preferred]"] + kept.map { "\($0.key)=\($0.value)" }
            + ["\(PortalInstallation.access)=\(PortalInstallation.backend)"]
    }

    /// The user's files to which permctl has added lines.
    static var changed: [String] {
        Folders.names(in: own).filter { $0.hasSuffix("portals.conf") }.map { "\(own)/\($0)" }
            .filter { Folders.text($0).map { ManagedLines.areIn(Array($0.utf8)) } == true }
    }
}
