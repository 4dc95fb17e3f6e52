// The attacks, each with its name.

enum Attack: String, CaseIterable {
    /// Calls with as many descriptors as a bus forwards, from connections that permd has not identified yet.
    case descriptors
    /// Messages of many megabytes, including an array that libdbus refuses and dbus-broker forwards.
    case huge
    /// Requests that are withdrawn at once, repeatedly.
    case closing
    /// Requests for other apps, as an enforcement point makes them, with pidfds, other descriptors and names.
    case points
    /// Unsolicited replies and signals with likely serials.
    case forged
    /// Calls that a sandboxed app is not allowed to make.
    case forbidden
    /// Owning well-known names that others trust, and answering under these names.
    case names
    /// Disconnecting during a request and in the middle of a message.
    case leaving
    /// Strings with characters that disturb the text around them.
    case texts
    /// Invalid tokens, paths, windows and types.
    case nonsense
    /// Holding a slot in the queue for as long as allowed.
    case holds
    /// Calls whose replies are never read.
    case unread
    /// More connections than any program normally opens.
    case storm
    /// Messages that the specification forbids.
    case malformed

    /// The attacks of programs outside any sandbox, without those that are allowed there.
    static let ofPlain = allCases.filter { $0 != .forbidden && $0 != .names }
    /// The attacks through a proxy, without those for which the proxy closes the connection.
    static let ofProxied = allCases.filter { $0 != .names }
}
