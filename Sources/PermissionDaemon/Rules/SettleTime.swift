// When changed files are read: as soon as no more changes follow, but not much later than the first.

/// All times are in milliseconds.
struct SettleTime {
    /// From the last change of a file until it is read. An editor replaces a file in several steps, and between them the
    /// file restricts nothing.
    static let pause: Int64 = 200
    /// From the first change until files are read though changes go on, as they may beside a missing folder: longer than
    /// an editor takes.
    static let longest: Int64 = 2000

    private var deadline: Int64?

    /// A file has changed. Returns how long to wait for the next change.
    mutating func changed(at uptime: Int64) -> Int64 {
        let end = deadline ?? uptime + SettleTime.longest
        deadline = end
        return min(SettleTime.pause, max(0, end - uptime))
    }

    /// The wait is over: the files are read.
    mutating func end() { deadline = nil }
}
