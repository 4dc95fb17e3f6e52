// A connection of the service, and the one to the bus that is made for it: what one sends, the other gets.

import DBus
import GateRules
import PermissionModel

@LoopActor
final class ServiceLink {
    /// The sender of the gate's own calls to the service. No bus gives this name away.
    static let ownName = ":0.0"

    private let service: RelayPeer
    private let bus: RelayPeer
    /// The service's unique name, which the reply to Hello gives it.
    private(set) var name: String?
    private var replies: [UInt32: @LoopActor (RelayMessage) -> Void] = [:]
    var onCall: (@LoopActor (RelayMessage) -> Void)?
    /// Called with signals and replies of the service.
    var onSent: (@LoopActor (RelayMessage) -> Void)?
    var onEnd: (@LoopActor () -> Void)?

    init(service: RelayPeer, bus: RelayPeer) {
        (self.service, self.bus) = (service, bus)
        (service.other, bus.other) = (bus, service)
        bus.onMessage = { [weak self] in self?.received($0) }
        service.onMessage = { [weak self] in self?.sent($0) }
        bus.onClose = { [weak self] in self?.end() }
        service.onClose = { [weak self] in self?.end() }
    }

    private func end() {
        service.close()
        bus.close()
        onEnd?()
    }

    private func received(_ message: RelayMessage) {
        let header = message.header
        if name == nil, header.kind == .methodReturn { name = header.destination }
        guard header.kind == .methodCall, header.sender != Message.busName else { return pass(message) }
        onCall?(message)
    }

    private func sent(_ message: RelayMessage) {
        let header = message.header
        guard header.destination == ServiceLink.ownName else {
            if header.kind == .methodCall { bus.send(message) } else { onSent?(message) }
            return
        }
        if header.kind != .methodCall { replies.removeValue(forKey: header.replySerial)?(message) }
    }

    /// Passes a message of the bus on to the service.
    func pass(_ message: RelayMessage) { service.send(message) }

    /// Passes a message of the service on to the bus.
    func pass(sent message: RelayMessage) { bus.send(message) }

    /// Answers a call instead of the service.
    func refuse(_ call: RelayMessage, _ name: String, _ text: String) {
        let header = call.header
        guard header.expectsReply,
            let error = RelayMessage.error(name, text, to: header.sender ?? "", replySerial: header.serial)
        else { return }
        bus.send(error)
    }

    /// Calls the service. `completion` does not run if the service leaves.
    func call(
        _ path: String, _ interface: String, _ member: String, _ body: [Value] = [],
        _ completion: @escaping @LoopActor (RelayMessage) -> Void
    ) {
        guard let name else { return }
        let call = Message.call(destination: name, path: path, interface: interface, member: member, body)
        guard let message = RelayMessage(call, sender: ServiceLink.ownName) else { return }
        let serial = service.send(message)
        if serial != 0 { replies[serial] = completion }
    }

    /// Tells the service, in the bus's name, that a caller has left: it ends what it does for it.
    func depart(_ caller: String) {
        let signal = Message.signal(
            path: "/org/freedesktop/DBus", interface: Message.busName, member: "NameOwnerChanged",
            [.string(caller), .string(caller), .string("")])
        if let message = RelayMessage(signal, sender: Message.busName) { service.send(message) }
    }
}
