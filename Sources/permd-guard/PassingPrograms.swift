// The programs that pass: media services, and those that an administrator names. They open devices for others, and are held
// to account where these ask.

import ProcessIdentity
import System

struct PassingPrograms {
    /// Further executables, by their paths.
    let paths: Set<String>

    /// - Parameters:
    ///   - executable: The path of an executable that no user can write.
    ///   - isMain: Whether the process is the main one of the unit of that name.
    func contains(_ executable: [UInt8], isMain: (_ unit: String) -> Bool) -> Bool {
        if MediaService(systemExecutable: executable) != nil {
            return isMain(Folders.fileName(of: executable))
        }
        return paths.contains(String(decoding: executable, as: UTF8.self))
    }
}
