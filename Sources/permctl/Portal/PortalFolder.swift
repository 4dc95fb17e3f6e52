// A folder of portal backends for one user, for versions before 1.17 when permd is installed elsewhere, such as in a home:
// they look for backends in one folder only.

import Glibc
import System

/// Links to the backends of the system and to permd's. A drop-in of the unit makes xdg-desktop-portal use this folder.
struct PortalFolder {
    static var path: String { "\(Folders.data)/permd/portals" }

    let installation: PortalInstallation

    static var hasBackend: Bool { access("\(path)/\(PortalInstallation.backend).portal", R_OK) == 0 }

    func make() throws(Failure) {
        PortalFolder.remove()
        ManagedFile.makeFolder(PortalFolder.path)
        let backends = installation.backendFolders.flatMap { folder in
            Folders.names(in: folder).filter { $0.hasSuffix(".portal") }.map { "\(folder)/\($0)" }
        }
        for target in backends + [installation.backendElsewhere].compactMap({ $0 }) {
            let link = "\(PortalFolder.path)/\(target.split(separator: "/").last ?? "")"
            guard symlink(target, link) != 0 else { continue }
            let problem = errorText()
            PortalFolder.remove()
            throw Failure(.no, "\(link) cannot be made: \(problem); nothing was changed")
        }
    }

    /// Removes the links, and the folder if nothing else is in it.
    static func remove() {
        for name in Folders.names(in: path) where name.hasSuffix(".portal") { unlink("\(path)/\(name)") }
        rmdir(path)
        rmdir("\(Folders.data)/permd")
    }
}
