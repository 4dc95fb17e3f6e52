// Decides whose reply to a call counts. A bus may let anyone send a method return with any serial, so the serial proves
// nothing; the sender field is set by the bus and can be trusted.

import CDBus

/// The only peer that may answer a call.
enum ReplyOrigin {
    /// The call went to the bus itself.
    case bus
    /// The call went to this connection.
    case connection(String)
    /// The call went to the owner of a well-known name.
    case owner(NameOwner)

    /// The bus answers on behalf of a callee that cannot: it may fail any call, but may return values only for calls to
    /// itself.
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

/// The owner of a well-known name, tracked while anything listens to it or calls it.
@LoopActor
final class NameOwner {
    /// Former owners remembered for pending calls. A name rarely changes owners more than once; beyond this limit the
    /// oldest are forgotten and their replies do not count.
    private static let maximumFormer = 16

    private(set) var owner: String?
    /// The owners since the oldest pending call was sent: the bus may have delivered the call to any of them.
    private var former: [String] = []
    private var callsUnderWay = 0
    /// The number of followers. A name that was called once is followed as long as the connection lives.
    var listeners = 0
    var token: Subscription?

    func apply(_ new: String?) {
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
    /// Returns who may answer `call`, which is about to be sent. Tracking the owner starts before the call, so that the
    /// bus reports the owner before it delivers any reply; a service that has yet to be activated becomes the owner
    /// before it receives the call.
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
