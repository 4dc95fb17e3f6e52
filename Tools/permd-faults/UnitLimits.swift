// The limits permd's unit sets, read from it, so that what is tested is what is shipped.

import Glibc

enum UnitLimits {
    /// Bytes.
    static let memory = number("MemoryMax=")
    static let descriptors = number("LimitNOFILE=")

    /// 0 where the unit says nothing, with which nothing passes.
    private static func number(_ key: String) -> Int {
        let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
        guard let file = fopen("\(root)/systemd/permd.service", "re") else { return 0 }
        defer { fclose(file) }
        var bytes = [CChar](repeating: 0, count: 1024)
        while fgets(&bytes, Int32(bytes.count), file) != nil {
            let line = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard line.hasPrefix(key) else { continue }
            let text = line.dropFirst(key.count)
            let digits = text.prefix { $0.isNumber }
            return (Int(digits) ?? 0) << (text.dropFirst(digits.count).first == "M" ? 20 : 0)
        }
        return 0
    }
}
