// Which users are people.

import System

package enum LoginUsers {
    /// The user IDs of people's accounts on this machine (login.defs(5), UID_MIN and UID_MAX). Further ones are in
    /// bpf/guard.bpf.c.
    package static func accounts() -> ClosedRange<UInt32> {
        let text = (try? RegularFile.read("/etc/login.defs", maximum: 256 << 10)) ?? []
        return accounts(String(decoding: text, as: UTF8.self))
    }

    package static func accounts(_ text: String) -> ClosedRange<UInt32> {
        var (first, last): (UInt32, UInt32) = (1000, 60000)
        for line in text.split(separator: "\n") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            guard words.count >= 2, let id = UInt32(words[1]) else { continue }
            // Never root.
            if words[0] == "UID_MIN" { first = max(1, id) }
            if words[0] == "UID_MAX" { last = id }
        }
        return first...max(first, last)
    }
}
