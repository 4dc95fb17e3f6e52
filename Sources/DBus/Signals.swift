// Which signal goes to which handler.

/// What a subscription wants; nil fits all.
struct SignalPattern: Hashable {
    var sender: String?
    var path: String?
    var interface: String?
    var member: String?
    var firstArgument: String?

    /// The match rule for AddMatch (D-Bus specification, "Match Rules").
    var matchRule: String {
        let parts = [
            ("sender", sender), ("path", path), ("interface", interface), ("member", member), ("arg0", firstArgument),
        ]
        return (["type='signal'"] + parts.compactMap { key, value in value.map { "\(key)='\($0)'" } })
            .joined(separator: ",")
    }

    /// A well-known sender cannot be compared with the unique name a message carries: the bus has done that.
    func fits(_ message: Message) -> Bool {
        if let sender, sender.hasPrefix(":") || sender == "org.freedesktop.DBus", sender != message.sender { return false }
        if let path, path != message.path { return false }
        if let interface, interface != message.interface { return false }
        if let member, member != message.member { return false }
        if let firstArgument, message.body.first?.stringValue != firstArgument { return false }
        return true
    }
}

/// Subscriptions, found by first argument where they name one, so that thousands of watched names cost nothing.
struct SignalTable {
    private struct Entry {
        let pattern: SignalPattern
        let handler: @LoopActor (Message) -> Void
    }

    private var general: [UInt64: Entry] = [:]
    private var byFirstArgument: [String: [UInt64: Entry]] = [:]
    private var lastID: UInt64 = 0

    mutating func add(_ pattern: SignalPattern, _ handler: @escaping @LoopActor (Message) -> Void) -> UInt64 {
        lastID += 1
        let entry = Entry(pattern: pattern, handler: handler)
        if let argument = pattern.firstArgument {
            byFirstArgument[argument, default: [:]][lastID] = entry
        } else {
            general[lastID] = entry
        }
        return lastID
    }

    mutating func remove(_ id: UInt64, _ pattern: SignalPattern) {
        guard let argument = pattern.firstArgument else { return general[id] = nil }
        byFirstArgument[argument]?[id] = nil
        if byFirstArgument[argument]?.isEmpty == true { byFirstArgument[argument] = nil }
    }

    @LoopActor
    func deliver(_ message: Message) {
        var entries = general.filter { $0.value.pattern.fits(message) }
        if let argument = message.body.first?.stringValue {
            for (id, entry) in byFirstArgument[argument] ?? [:] where entry.pattern.fits(message) { entries[id] = entry }
        }
        for (_, entry) in entries.sorted(by: { $0.key < $1.key }) { entry.handler(message) }
    }
}

/// Ends a subscription when cancelled; letting go of it does not.
@LoopActor
public final class SignalToken {
    private var body: (@LoopActor () -> Void)?

    init(_ body: @escaping @LoopActor () -> Void) { self.body = body }

    public func cancel() {
        body?()
        body = nil
    }
}
