// Maps signals to handlers.

/// What a subscription matches; nil matches anything.
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
        return (["type='signal'"] + parts.compactMap { key, value in value.map { "\(key)=\(quoted($0))" } })
            .joined(separator: ",")
    }

    /// An apostrophe cannot be escaped within quotes: it is written as `'\''`.
    private func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    /// The sender, if it is a well-known name. Messages carry the unique name of its owner instead.
    var wellKnownSender: String? {
        guard let sender, !sender.hasPrefix(":"), sender != Message.busName else { return nil }
        return sender
    }

    /// The part that can be matched against a message header alone.
    var shape: SignalPattern {
        var shape = self
        shape.firstArgument = nil
        return shape
    }

    /// `owner` is the unique name behind a well-known sender; without an owner nothing matches. The match rule does not
    /// ensure this, because anyone can send us a unicast signal.
    func fits(_ message: Message, owner: String?) -> Bool {
        if let sender, (wellKnownSender == nil ? sender : owner) != message.sender { return false }
        if let path, path != message.path { return false }
        if let interface, interface != message.interface { return false }
        if let member, member != message.member { return false }
        if let firstArgument, message.body.first?.stringValue != firstArgument { return false }
        return true
    }
}

/// Subscriptions, indexed by first argument where they specify one, so that thousands of watched names cost nothing per
/// message.
struct SignalTable {
    private struct Entry {
        let pattern: SignalPattern
        let handler: @LoopActor (Message) -> Void
    }

    private var general: [UInt64: Entry] = [:]
    /// The patterns without their first arguments, which can be matched against a header, with their numbers.
    private var shapeCounts: [SignalPattern: Int] = [:]
    private var byFirstArgument: [String: [UInt64: Entry]] = [:]
    private var lastID: UInt64 = 0

    mutating func add(_ pattern: SignalPattern, _ handler: @escaping @LoopActor (Message) -> Void) -> UInt64 {
        lastID += 1
        shapeCounts[pattern.shape, default: 0] += 1
        let entry = Entry(pattern: pattern, handler: handler)
        if let argument = pattern.firstArgument {
            byFirstArgument[argument, default: [:]][lastID] = entry
        } else {
            general[lastID] = entry
        }
        return lastID
    }

    /// Stays small regardless of how many names are watched.
    var shapes: Dictionary<SignalPattern, Int>.Keys { shapeCounts.keys }

    mutating func remove(_ id: UInt64, _ pattern: SignalPattern) {
        guard handler(id, pattern) != nil else { return }
        shapeCounts[pattern.shape, default: 1] -= 1
        if shapeCounts[pattern.shape] == 0 { shapeCounts[pattern.shape] = nil }
        guard let argument = pattern.firstArgument else {
            general[id] = nil
            return
        }
        byFirstArgument[argument]?[id] = nil
        if byFirstArgument[argument]?.isEmpty == true { byFirstArgument[argument] = nil }
    }

    /// The subscriptions that may match a message, oldest first.
    func candidates(for message: Message) -> [(id: UInt64, pattern: SignalPattern)] {
        var found = general.map { (id: $0.key, pattern: $0.value.pattern) }
        if let argument = message.body.first?.stringValue, let named = byFirstArgument[argument] {
            found += named.map { (id: $0.key, pattern: $0.value.pattern) }
        }
        return found.sorted { $0.id < $1.id }
    }

    /// Returns nil if the subscription was removed.
    func handler(_ id: UInt64, _ pattern: SignalPattern) -> (@LoopActor (Message) -> Void)? {
        guard let argument = pattern.firstArgument else { return general[id]?.handler }
        return byFirstArgument[argument]?[id]?.handler
    }
}

/// Ends a subscription when cancelled, but not when released.
@LoopActor
public final class Subscription {
    private var body: (@LoopActor () -> Void)?

    /// - Parameter body: Called once, on cancellation.
    public init(_ body: @escaping @LoopActor () -> Void) { self.body = body }

    public func cancel() {
        body?()
        body = nil
    }
}
