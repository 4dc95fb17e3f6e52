// Makes permd the backend of the portals' access dialogs for one user, undoes that, and says which it is.

import PermissionClient

struct PortalSwitch {
    let installation: PortalInstallation
    private var files: PortalFiles { PortalFiles(installation: installation) }
    private var unit: PortalUnit { PortalUnit(installation: installation) }
    private var folder: PortalFolder { PortalFolder(installation: installation) }

    /// - Throws: ``Failure`` if there is no xdg-desktop-portal.
    init() throws(Failure) {
        guard let found = try PortalInstallation.find() else {
            throw Failure(.no, "xdg-desktop-portal is not installed, so no app asks through portals")
        }
        installation = found
    }

    struct State {
        let isPermd: Bool
        /// The file that decides; nil if none does.
        let path: String?
        /// Whether permctl has written what decides.
        let isOwn: Bool
    }

    var usesFiles: Bool { installation.version >= .readsConfiguration }

    /// The drop-in that makes xdg-desktop-portal use the folder that permctl has made; nil if none does.
    private var folderUnit: String? {
        unit.value(of: PortalFolder.variable).flatMap { $0.value == PortalFolder.path ? $0.path : nil }
    }

    /// Whether xdg-desktop-portal finds permd's .portal file.
    var findsBackend: Bool { folderUnit != nil ? folder.hasBackend : installation.backendFile != nil }

    var state: State {
        if let path = folderUnit {
            let isNamed = unit.deciding.map { isPermd($0.desktops) } ?? false
            return State(isPermd: usesFiles ? folder.prefersBackend : isNamed, path: path, isOwn: isOwn(path))
        }
        if usesFiles, let file = files.deciding {
            return State(
                isPermd: file.backends?.first == PortalInstallation.backend, path: file.path, isOwn: isOwn(file.path))
        }
        if let unit = unit.deciding {
            return State(isPermd: isPermd(unit.desktops), path: unit.path, isOwn: isOwn(unit.path))
        }
        return State(isPermd: installation.isDesktop, path: nil, isOwn: false)
    }

    private func isPermd(_ desktops: [String]) -> Bool { desktops.first?.lowercased() == PortalInstallation.backend }

    private func isOwn(_ path: String) -> Bool {
        Folders.text(path).map { ManagedLines.areIn(Array($0.utf8)) } == true
    }

    // MARK: Changes

    /// Returns what was done, a line for each step; empty if permd already was the backend.
    func enable(restarts: Bool) throws(Failure) -> [TerminalText] {
        guard installation.backendFile != nil || installation.backendElsewhere != nil else {
            let folder = installation.backendFolders.last ?? ""
            throw Failure(.no, "permd.portal is missing in \(folder); install permd; nothing was changed")
        }
        if state.isPermd, findsBackend, !isOutdated { return [] }
        try requireDesktop()
        let change = try write()
        guard state.isPermd else {
            let path = state.path ?? "another file"
            try change.undo()
            PortalFolder.remove()
            throw Failure(.no, "\(path) takes precedence; remove what it says about \(setting); nothing was changed")
        }
        return ["wrote \(change.file.path)"] + PortalSwitch.apply(restarts: restarts)
    }

    private func write() throws(Failure) -> Change {
        guard installation.backendFile != nil else {
            try folder.make(configuration: usesFiles ? files.substitute(for: files.deciding) : nil)
            do throws(Failure) {
                return try add(unit.lines(folder: PortalFolder.path), to: PortalUnit.path, replacing: "", in: "")
            } catch {
                PortalFolder.remove()
                throw error
            }
        }
        guard usesFiles else {
            return try add(unit.lines(folder: nil), to: PortalUnit.path, replacing: "", in: "")
        }
        let (path, lines) = files.change
        return try add(lines, to: path, replacing: PortalInstallation.access, in: "preferred")
    }

    /// Returns what was done; empty if there was nothing to undo. Works also after xdg-desktop-portal was removed.
    static func disable(restarts: Bool) throws(Failure) -> [TerminalText] {
        var done: [TerminalText] = []
        for path in PortalFiles.changed + [PortalUnit.path] {
            let file = OwnFile(path: path)
            guard let content = try file.read(), ManagedLines.areIn(content) else { continue }
            if let before = ManagedLines.removed(from: content) {
                try file.write(before)
                done.append("restored \(path)")
            } else {
                try file.remove()
                done.append("removed \(path)")
            }
        }
        PortalFolder.remove()
        return done.isEmpty ? [] : done + apply(restarts: restarts)
    }

    /// What a file says to choose a backend.
    var setting: String { usesFiles ? PortalInstallation.access : PortalUnit.variable }

    /// Whether permctl's drop-in names another desktop than the present one, or its folder lacks a backend.
    private var isOutdated: Bool {
        if folderUnit != nil, !folder.isCurrent { return true }
        guard !usesFiles, let unit = unit.deciding, unit.path == PortalUnit.path, !installation.desktops.isEmpty else {
            return false
        }
        return Array(unit.desktops.dropFirst()) != installation.desktops
    }

    /// Which file counts depends on the desktop. Some graphical sessions have no name, but a login over ssh only does not know it.
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

    private struct Change {
        let file: OwnFile
        /// The content before; nil if there was no file.
        let before: [UInt8]?

        func undo() throws(Failure) {
            if let before { try file.write(before) } else { try file.remove() }
        }
    }

    private func add(
        _ lines: [String], to path: String, replacing key: String, in group: String
    ) throws(Failure) -> Change {
        let file = OwnFile(path: path)
        let before = try file.read()
        var content = before
        // Lines of an earlier run, for another desktop or after a change of the file.
        if let old = content, ManagedLines.areIn(old) { content = ManagedLines.removed(from: old) }
        try file.write(ManagedLines.add(lines, to: content, replacing: key, in: group))
        return Change(file: file, before: before)
    }

    /// Makes xdg-desktop-portal read its files again, which it does only when it starts.
    private static func apply(restarts: Bool) -> [TerminalText] {
        let later: TerminalText =
            "takes effect when \(PortalInstallation.unit) starts again, at the latest at the next login"
        guard restarts else { return [later] }
        for command in [["daemon-reload"], ["try-restart", PortalInstallation.unit]] {
            guard let output = try? ProgramOutput.of(["systemctl", "--user"] + command), output.isSuccess else {
                return [later]
            }
        }
        return ["restarted \(PortalInstallation.unit), if it was running"]
    }
}
