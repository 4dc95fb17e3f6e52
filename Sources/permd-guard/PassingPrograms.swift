// The programs that pass: media services, permd, and those that an administrator names. They open devices for others, and
// are held to account where these ask.

import ProcessIdentity

struct PassingPrograms {
    /// Further executables, by their paths.
    let paths: Set<String>

    /// - Parameter executable: The path of an executable that no user can write.
    func contains(_ executable: [UInt8]) -> Bool {
        MediaService(systemExecutable: executable) != nil
            || executable.split(separator: UInt8(ascii: "/")).last?.elementsEqual("permd".utf8) == true
            || paths.contains(String(decoding: executable, as: UTF8.self))
    }
}
