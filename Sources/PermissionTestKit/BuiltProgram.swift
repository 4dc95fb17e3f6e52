// The programs that were built together with the tests.

import Glibc

public enum BuiltProgram {
    /// The program that runs.
    public static let own: String = {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let length = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
        return String(decoding: buffer[..<length], as: UTF8.self)
    }()

    /// The folder they are in: the one of the program that runs.
    public static let folder = String(own[..<(own.lastIndex(of: "/") ?? own.startIndex)])

    public static func path(_ name: String) -> String { "\(folder)/\(name)" }

    /// A copy under another path: to the kernel, and to permd, another app.
    ///
    /// By a program of its own: while we had it open for writing, a child of another thread would have it open as well,
    /// and nobody could execute it (ETXTBSY).
    public static func copy(_ name: String, to path: String) async throws(TestKitError) {
        let copy = try ChildProcess("cp", [BuiltProgram.path(name), path])
        guard await copy.waitForExit() == .exited(0) else { throw TestKitError("cannot copy \(name) to \(path)") }
    }
}
