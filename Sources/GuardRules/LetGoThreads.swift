// The threads that were let go, until each must have made its call again.

/// Whoever uses it calls `turn()` once in a while as long as there are any.
public struct LetGoThreads {
    private var new: Set<UInt32> = []
    private var old: Set<UInt32> = []

    public init() {}

    public var isEmpty: Bool { new.isEmpty && old.isEmpty }

    public mutating func insert(_ thread: UInt32) {
        old.remove(thread)
        new.insert(thread)
    }

    /// Removes and returns those that were let go before the previous turn, so for each a whole turn has passed.
    public mutating func turn() -> Set<UInt32> {
        defer { (old, new) = (new, []) }
        return old
    }
}
