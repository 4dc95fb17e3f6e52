// The programs that pass: media services, obexd, and those that an administrator names. They open devices and sockets for
// others, and are held to account where these ask.

import PermissionModel
import ProcessIdentity
import System

struct PassingPrograms {
    /// BlueZ's service for files, by the names of its executable and its unit.
    private static let obexd = (executable: "obexd", unit: "obex")

    /// Further executables, by their paths.
    let paths: Set<String>

    /// - Parameters:
    ///   - executable: The path of an executable that no user can write.
    ///   - isMain: Whether the process is the main one of the unit of that name.
    func contains(_ executable: [UInt8], _ permission: Permission, isMain: (_ unit: String) -> Bool) -> Bool {
        let name = Folders.fileName(of: executable)
        if MediaService(systemExecutable: executable) != nil { return isMain(name) }
        if permission == .bluetooth, name == PassingPrograms.obexd.executable {
            return isMain(PassingPrograms.obexd.unit)
        }
        return paths.contains(String(decoding: executable, as: UTF8.self))
    }
}
