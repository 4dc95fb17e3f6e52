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
    public static func copy(_ name: String, to path: String) throws(TestKitError) {
        let source = open(BuiltProgram.path(name), O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw .system("cannot read \(name)", errno) }
        defer { close(source) }
        let target = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o755)
        guard target >= 0 else { throw .system("cannot write \(path)", errno) }
        defer { close(target) }
        while true {
            let count = sendfile(target, source, nil, 1 << 30)
            guard count >= 0 else { throw .system("cannot copy \(name)", errno) }
            if count == 0 { return }
        }
    }
}
