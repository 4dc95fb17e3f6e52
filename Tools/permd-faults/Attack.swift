// The attacks, each with its name. All are what an app may send, but in excess or malformed.

enum Attack: String, CaseIterable {
    /// Calls with as many descriptors as a bus forwards, from connections that permd has not identified yet.
    case descriptors
    /// Messages of many megabytes, including an array that libdbus refuses and dbus-broker forwards.
    case huge
    /// Requests that are withdrawn at once, repeatedly.
    case closing
    /// Requests for other apps, as an enforcement point makes them, with pidfds, other descriptors and names.
    case points
    /// Disconnecting during a request and in the middle of a message.
    case leaving
    /// Calls whose replies are never read.
    case unread
    /// More connections than any program normally opens.
    case storm
    /// Messages that the specification forbids.
    case malformed
    /// Many calls in flight at all times.
    case flood
    /// Large arguments of the wrong type and unknown options, 300 times a second.
    case arguments
    /// On many connections, reasons that are as long as permd reads and costly to divide into characters.
    case texts
    /// On new connections, large first calls.
    case beginnings

    /// Those that make permd work, rather than hold more than they may.
    static let costly: [Attack] = [.flood, .arguments, .texts, .beginnings]
    /// All others: together with the costly ones, they would keep a slow machine from serving anybody.
    static let greedy = allCases.filter { !costly.contains($0) }
}
