// Which drivers have the numbers of character devices (/proc/devices in proc(5)).

import System

enum CharacterDevices {
    /// Those that the kernel gives to drivers that choose none, as in `is_dynamic` of bpf/guard.bpf.c.
    static func isDynamic(_ major: UInt32) -> Bool { 234...254 ~= major || 384...511 ~= major }

    /// The names of drivers, by major number; nil if they cannot be read.
    static func drivers() -> [UInt32: String]? {
        guard let text = try? RegularFile.read("/proc/devices", maximum: 64 << 10) else { return nil }
        return drivers(String(decoding: text, as: UTF8.self))
    }

    static func drivers(_ text: String) -> [UInt32: String] {
        var found: [UInt32: String] = [:]
        for line in text.split(separator: "\n") {
            if line.hasPrefix("Block devices") { break }
            let words = line.split(separator: " ", maxSplits: 1)
            if words.count == 2, let major = UInt32(words[0]) { found[major] = String(words[1]) }
        }
        return found
    }
}
