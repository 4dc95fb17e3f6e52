// A folder of portal backends for one user, for versions that look for them in one folder only, when permd is installed
// elsewhere, such as in the user's home.

import Glibc

/// Links to the backends of the system and to permd's. A drop-in of the unit makes xdg-desktop-portal use this folder.
struct PortalFolder {
    static let variable = "XDG_DESKTOP_PORTAL_DIR"
    static var path: String { "\(Folders.data)/permd/portals" }

    let installation: PortalInstallation

    /// The links that the folder should have, by name, and what they point to.
    private var wanted: [String: String] {
        var links: [String: String] = [:]
        for folder in installation.backendFolders {
            for name in Folders.names(in: folder) where name.hasSuffix(".portal") { links[name] = "\(folder)/\(name)" }
        }
        links["\(PortalInstallation.backend).portal"] = installation.backendElsewhere
        return links
    }

    private static var present: [String: String] {
        var links: [String: String] = [:]
        for name in Folders.names(in: path) where name.hasSuffix(".portal") {
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
            let length = readlink("\(path)/\(name)", &buffer, buffer.count)
            guard length > 0 else { continue }
            links[name] = String(decoding: buffer[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
        return links
    }

    /// Whether it has permd's file, and all that the system has.
    var isCurrent: Bool { PortalFolder.present == wanted }

    var hasBackend: Bool { Folders.text("\(PortalFolder.path)/\(PortalInstallation.backend).portal") != nil }

    /// Whether its portals.conf selects permd.
    var prefersBackend: Bool {
        let groups = Folders.text("\(PortalFolder.path)/portals.conf").map { KeyFile($0).groups } ?? [:]
        return groups["preferred"]?[PortalInstallation.access] == PortalInstallation.backend
    }

    /// - Parameter configuration: the lines of its portals.conf; nil for versions without one. With a folder of its own,
    ///   xdg-desktop-portal reads no other.
    func make(configuration: [String]?) throws(Failure) {
        PortalFolder.remove()
        // This also makes the folder.
        let note = "# Made by permctl portal enable; permctl portal disable removes this folder."
        try OwnFile(path: "\(PortalFolder.path)/portals.conf").write(
            Array(([note] + (configuration ?? [])).map { $0 + "\n" }.joined().utf8))
        for (name, target) in wanted where symlink(target, "\(PortalFolder.path)/\(name)") != 0 {
            let problem = WholeFile.Problem(errno)
            PortalFolder.remove()
            throw Failure(.no, "\(PortalFolder.path)/\(name) cannot be made: \(problem.text); nothing was changed")
        }
    }

    /// Removes the links, and the folder if nothing else is in it.
    static func remove() {
        for name in present.keys { unlink("\(path)/\(name)") }
        unlink("\(path)/portals.conf")
        rmdir(path)
        rmdir("\(Folders.data)/permd")
    }
}
