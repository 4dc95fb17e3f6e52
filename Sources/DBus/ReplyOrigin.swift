// Whose reply to a call counts. A bus may let anybody send a method return with any serial to anybody, so the serial
// proves nothing; the sender's name is the bus's own word.

import CDBus

/// Who alone may answer a call.
enum ReplyOrigin {
    /// The call went to the bus itself.
    case bus
    /// The call went to this connection.
    case connection(String)
    /// The call went to whoever owned a well-known name.
    case owner(NameOwner)

    /// The bus answers for a callee that cannot: it may fail any call, and return values for its own only.
    @LoopActor
    func admits(_ reply: Message) -> Bool {
        guard let sender = reply.sender else { return false }
        if sender == Message.busName, reply.kind == .error { return true }
        switch self {
        case .bus: return sender == Message.busName
        case .connection(let name): return sender == name
        case .owner(let known): return known.mayHaveReceived(sender)
        }
    }
}

/// The owner of a well-known name, kept up to date while somebody listens to it or calls it.
@LoopActor
final class NameOwner {
    /// Owners remembered for the calls under way. A name changes hands once in its life, or never; beyond this the oldest
    /// are forgotten and their replies do not count.
    private static let maximumFormer = 16

    private(set) var owner: String?
    /// Who owned it since the oldest of the calls under way was sent: the bus may have given the call to any of them.
    private var former: [String] = []
    private var callsUnderWay = 0
    /// Those who want the owner followed; a name that was called once is followed as long as the connection lives.
    var listeners = 0
    var token: Subscription?

    func become(_ new: String?) {
        if callsUnderWay > 0, let owner, owner != new {
            former.append(owner)
            if former.count > NameOwner.maximumFormer { former.removeFirst() }
        }
        owner = new
    }

    func callBegins() { callsUnderWay += 1 }

    func callEnds() {
        callsUnderWay -= 1
        if callsUnderWay == 0 { former = [] }
    }

    func mayHaveReceived(_ name: String) -> Bool { name == owner || former.contains(name) }
}

extension Connection {
    /// Who may answer `call`, which is about to be sent. Following the owner of a name begins before, so that the bus tells
    /// of it before it passes on any reply; a service that is yet to start appears as the owner before it gets the call.
    func replyOrigin(of call: Message) -> ReplyOrigin {
        guard let name = call.destination, name != Message.busName, dbus_validate_bus_name(name, nil) != 0 else {
            return .bus
        }
        if name.hasPrefix(":") { return .connection(name) }
        if let known = calledOwners[name] { return .owner(known) }
        let followed = follow(name)
        calledOwners[name] = followed
        return .owner(followed)
    }
}
