// Maps signals to handlers.

/// What a subscription matches; nil matches anything.
struct SignalPattern: Hashable {
    var sender: String?
    var path: String?
    var interface: String?
    var member: String?
    var firstArgument: String?
    /// Whether the signals may carry file descriptors. Others that do are dropped.
    var takesDescriptors = false

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

    /// `owner` is the unique name behind a well-known sender; without an owner nothing matches. The match rule does not
    /// ensure this, because anyone can send us a unicast signal.
    func fits(_ message: Message, owner: String?) -> Bool {
        fitsHeader(message, owner: owner)
            && (firstArgument == nil || message.body.first?.stringValue == firstArgument)
    }

    func fitsHeader(_ message: Message, owner: String?) -> Bool {
        if let sender, (wellKnownSender == nil ? sender : owner) != message.sender { return false }
        if let path, path != message.path { return false }
        if let interface, interface != message.interface { return false }
        if let member, member != message.member { return false }
        return true
    }
}

/// The subscriptions of a connection, of which there are few.
struct SignalTable {
    private(set) var entries: [(id: UInt64, pattern: SignalPattern, handler: @LoopActor (Message) -> Void)] = []
    private var lastID: UInt64 = 0

    mutating func add(_ pattern: SignalPattern, _ handler: @escaping @LoopActor (Message) -> Void) -> UInt64 {
        lastID += 1
        entries.append((lastID, pattern, handler))
        return lastID
    }

    mutating func remove(_ id: UInt64) { entries.removeAll { $0.id == id } }

    func contains(_ id: UInt64) -> Bool { entries.contains { $0.id == id } }
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
