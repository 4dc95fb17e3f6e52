// What an attacker does, each with its name.

enum Attack: String, CaseIterable {
    /// Calls with as many descriptors as a bus lets through, of connections nobody knows yet.
    case descriptors
    /// Messages of many megabytes, among them an array that libdbus refuses and dbus-broker does not.
    case huge
    /// Requests that are withdrawn at once, again and again.
    case closing
    /// Replies and signals that nobody asked for, with likely serials.
    case forged
    /// Calls that are none of a sandboxed app's business.
    case forbidden
    /// Names that others trust, and answers given under them.
    case names
    /// Leaves the bus while it asks, and in the middle of a message.
    case leaving
    /// Texts that draw over others.
    case texts
    /// Tokens, paths, windows and types that are none.
    case nonsense
    /// A place in the queue, held as long as it may be.
    case holds
    /// Calls whose answers are never read.
    case unread
    /// More connections than a program has.
    case storm
    /// Messages that the specification forbids.
    case malformed

    /// What programs outside any sandbox may do is no attack of theirs.
    static let ofPlain = allCases.filter { $0 != .forbidden && $0 != .names }
    /// Without losing its connection to the proxy each time.
    static let ofProxied = allCases.filter { $0 != .names }
}
