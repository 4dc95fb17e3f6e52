// A folder of portal backends for one user, for versions before 1.17 when permd is installed elsewhere, such as in a home:
// they look for backends in one folder only.

import Glibc
import System

/// Links to the backends of the system and to permd's. A drop-in of the unit makes xdg-desktop-portal use this folder.
struct PortalFolder {
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
            var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
            let length = readlink("\(path)/\(name)", &buffer, buffer.count)
            links[name] = String(decoding: buffer.prefix(max(0, length)), as: UTF8.self)
        }
        return links
    }

    /// Whether it has permd's file, and all that the system has.
    var isCurrent: Bool { PortalFolder.present == wanted }

    static var hasBackend: Bool { access("\(path)/\(PortalInstallation.backend).portal", R_OK) == 0 }

    func make() throws(Failure) {
        PortalFolder.remove()
        ManagedFile.makeFolder(PortalFolder.path)
        for (name, target) in wanted where symlink(target, "\(PortalFolder.path)/\(name)") != 0 {
            let problem = String(cString: strerror(errno))
            PortalFolder.remove()
            throw Failure(.no, "\(PortalFolder.path)/\(name) cannot be made: \(problem); nothing was changed")
        }
    }

    /// Removes the links, and the folder if nothing else is in it.
    static func remove() {
        for name in present.keys { unlink("\(path)/\(name)") }
        rmdir(path)
        rmdir("\(Folders.data)/permd")
    }
}
