// The programs that tests start: those built together with them, or those installed together with the sources of this.

import Glibc

package enum BuiltProgram {
    package static let own: String = {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let length = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
        return String(decoding: buffer[..<length], as: UTF8.self)
    }()

    /// The folder of the programs: libexec of the prefix under which these sources are installed, or the folder of the
    /// running program if they are not installed.
    package static let folder: String = {
        if let sources = #filePath.firstRange(of: "/share/permd/swift/Sources/") {
            return "\(#filePath[..<sources.lowerBound])/libexec"
        }
        return String(own[..<(own.lastIndex(of: "/") ?? own.startIndex)])
    }()

    package static func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// Copies a program to another path, which makes it another app to the kernel and to permd.
    ///
    /// Copied by a child process: if this process had the file open for writing, a child forked by another thread would
    /// inherit the descriptor, and executing the file would fail with ETXTBSY.
    package static func copy(_ name: String, to path: String) async throws(TestKitError) {
        let copy = try ChildProcess("cp", [BuiltProgram.path(name), path])
        guard await copy.waitForExit() == .exited(0) else { throw TestKitError("cannot copy \(name) to \(path)") }
    }
}
