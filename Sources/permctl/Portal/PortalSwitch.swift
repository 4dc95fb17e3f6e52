// Makes permd the backend of the portals' access dialogs for one user, undoes that, and says which it is.

import PermissionClient
import System

struct PortalSwitch {
    let installation: PortalInstallation
    private var files: PortalFiles { PortalFiles(installation: installation) }
    private var folder: PortalFolder { PortalFolder(installation: installation) }

    /// The drop-in for versions that choose backends by the name of the desktop. By its name it comes after
    /// override.conf, which systemctl edit writes.
    private static var dropIn: ManagedFile {
        ManagedFile(path: "\(Folders.config)/systemd/user/\(PortalInstallation.unit).d/permd.conf")
    }

    /// - Throws: ``Failure`` if there is no xdg-desktop-portal.
    init() throws(Failure) { installation = try PortalInstallation() }

    struct State {
        let isPermd: Bool
        /// The file that decides; nil if none does.
        let path: String?
        /// Whether permctl has written what decides.
        let isOwn: Bool
    }

    var usesFiles: Bool { installation.readsConfiguration }

    /// Whether xdg-desktop-portal finds permd's .portal file.
    var findsBackend: Bool {
        installation.backendFile != nil || !usesFiles && PortalSwitch.dropIn.hasBlock && PortalFolder.hasBackend
    }

    var state: State {
        if usesFiles, let file = files.deciding {
            return State(
                isPermd: file.backends.first == PortalInstallation.backend, path: file.path,
                isOwn: ManagedFile(path: file.path).hasBlock)
        }
        if !usesFiles, PortalSwitch.dropIn.hasBlock {
            return State(isPermd: true, path: PortalSwitch.dropIn.path, isOwn: true)
        }
        return State(isPermd: installation.isDesktop, path: nil, isOwn: false)
    }

    // MARK: Changes

    /// Returns what was done, a line for each step; empty if permd already was the backend.
    func enable(restarts: Bool) throws(Failure) -> [TerminalText] {
        let needsFolder = installation.backendFile == nil
        guard !needsFolder || !usesFiles && installation.backendElsewhere != nil else {
            throw Failure(
                .no,
                "permd.portal is missing in \(installation.backendFolders.last ?? ""); install permd; nothing was changed"
            )
        }
        // One of an earlier version would hide the files.
        if usesFiles, try PortalSwitch.dropIn.removeBlock() != nil { PortalFolder.remove() }
        let (file, lines) = usesFiles ? try files.edit() : (PortalSwitch.dropIn, dropInLines(needsFolder))
        let isCurrent = try file.hasBlock(lines)
        // Links are made again, since other backends may have been installed.
        if state.isPermd, findsBackend, !state.isOwn || installation.desktops.isEmpty || isCurrent && !needsFolder {
            return []
        }
        try requireDesktop()
        if needsFolder { try folder.make() }
        try file.addBlock(lines)
        guard state.isPermd else {
            let path = state.path ?? "another file"
            _ = try file.removeBlock()
            throw Failure(
                .no,
                "\(path) takes precedence; remove what it says about \(PortalInstallation.access); nothing was changed")
        }
        return ["wrote \(file.path)"] + PortalSwitch.apply(restarts: restarts)
    }

    private func dropInLines(_ needsFolder: Bool) -> String {
        let desktops = ([PortalInstallation.backend] + installation.desktops).joined(separator: ":")
        let folder = PortalFolder.path.replacing("%", with: "%%")
        return "[Service]\nEnvironment=XDG_CURRENT_DESKTOP=\(desktops)"
            + (needsFolder ? "\nEnvironment=\"XDG_DESKTOP_PORTAL_DIR=\(folder)\"" : "")
    }

    /// Returns what was done; empty if there was nothing to undo. Works also after xdg-desktop-portal was removed.
    static func disable(restarts: Bool) throws(Failure) -> [TerminalText] {
        var done: [TerminalText] = []
        for file in PortalFiles.changeable.filter(\.hasBlock) + [dropIn] {
            if let step = try file.removeBlock() { done.append(step) }
        }
        PortalFolder.remove()
        return done.isEmpty ? [] : done + apply(restarts: restarts)
    }

    /// Which file counts depends on the desktop. Some graphical sessions have no name, but a login over ssh only does not
    /// know it.
    /// - Throws: ``Failure`` if the desktop is not known.
    private func requireDesktop() throws(Failure) {
        let isGraphical = ["DISPLAY", "WAYLAND_DISPLAY"].contains { Folders.variable($0) != nil }
        guard installation.desktops.isEmpty, !isGraphical else { return }
        throw Failure(
            .no,
            """
            the desktop is not known here; run this in the graphical session, or set XDG_CURRENT_DESKTOP to the \
            desktop's name, such as GNOME; nothing was changed
            """)
    }

    /// Makes xdg-desktop-portal read its files again, which it does only when it starts.
    private static func apply(restarts: Bool) -> [TerminalText] {
        guard restarts, Program.output("systemctl", "--user", "daemon-reload") != nil,
            Program.output("systemctl", "--user", "try-restart", PortalInstallation.unit) != nil
        else { return ["takes effect when \(PortalInstallation.unit) starts again, at the latest at the next login"] }
        return ["restarted \(PortalInstallation.unit), if it was running"]
    }
}
