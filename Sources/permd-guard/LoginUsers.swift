// Which users are people.

import System

enum LoginUsers {
    /// The first user ID of a person's account (login.defs(5), UID_MIN).
    static func first() -> UInt32 {
        let text = (try? RegularFile.read("/etc/login.defs", maximum: 256 << 10)) ?? []
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
            let words = line.split(whereSeparator: { $0 == " " || $0 == "\t" })
            // Never root.
            if words.count >= 2, words[0] == "UID_MIN", let id = UInt32(words[1]) { return max(1, id) }
        }
        return 1000
    }
}
