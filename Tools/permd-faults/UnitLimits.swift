// The limits set by permd's systemd unit, read from the unit file so that the shipped values are tested.

import Glibc

enum UnitLimits {
    /// In bytes.
    static let memory = number("MemoryMax=")
    /// Not more than this process may have: like systemd, which then sets the highest limit it can.
    static let descriptors: Int = {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return min(number("LimitNOFILE="), Int(clamping: limit.rlim_max))
    }()

    /// Returns 0 if the unit does not set the limit, which makes every check fail.
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
