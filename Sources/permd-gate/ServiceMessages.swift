// What the service says reaches those who may know: signals about devices go to each of them, and of lists of objects the
// others get the rest.

import DBus
import GateRules

extension GateService {
    func sent(_ message: RelayMessage, _ link: ServiceLink) {
        let header = message.header
        let receiver = header.destination.flatMap { callers[$0] }
        if let receiver, header.kind != .signal {
            noticeReply(header.replySerial, isError: header.kind == .error, to: receiver)
        }
        if header.kind == .signal {
            let tells = service.tells(
                path: header.path ?? "", interface: header.interface ?? "", member: header.member ?? "",
                firstText: message.firstText)
            guard tells else { return link.pass(sent: message) }
            noticeDisconnection(message)
            if header.destination == nil { return tell(message, link) }
            if let receiver, isCleared(receiver) { link.pass(sent: message) }
            return
        }
        // By what it contains, whatever it answers: a serial is the caller's choice.
        guard let receiver, !isCleared(receiver), header.kind == .methodReturn, let views = views(header.signature)
        else { return link.pass(sent: message) }
        guard let body = message.body.flatMap({ views($0[0]) }), let view = message.copy(body: [body]) else {
            let text = "the objects of \(service.name) are too many to leave devices out"
            let error = RelayMessage.error(
                BusError.Name.limitsExceeded, text, to: receiver.name, replySerial: header.replySerial)
            if let error { link.pass(sent: error) }
            return
        }
        if header.signature != "s" { receiver.partialViews[ObjectIdentifier(link)] = link }
        link.pass(sent: view)
    }

    /// A broadcast becomes a signal to each who may know.
    private func tell(_ signal: RelayMessage, _ link: ServiceLink) {
        for caller in callers.values where isCleared(caller) {
            if let copy = signal.copy(to: caller.name) { link.pass(sent: copy) }
        }
    }

    /// What is left of a reply with this signature that may tell of devices; nil if none may.
    private func views(_ signature: String) -> ((Value) -> Value?)? {
        switch signature {
        case "a{oa{sa{sv}}}":
            return { [service] value in
                guard case .dictionary(let key, let content, let entries) = value else { return nil }
                return .dictionary(
                    key: key, value: content,
                    entries.filter { !service.isTelling($0.key.objectPathValue ?? "") })
            }
        case "s":
            return { [service] value in
                value.stringValue.map { text in
                    .string(withoutNodes(text) { service.isTelling("/\($0)") })
                }
            }
        default: return nil
        }
    }

    /// A caller that was told of no devices may know of them now.
    func tellRest(_ caller: Caller, _ link: ServiceLink) {
        link.call("/", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects") { [weak self, weak link] reply in
            guard let self, let link, isCleared(caller), reply.header.kind == .methodReturn,
                case .dictionary(_, _, let entries)? = reply.body?.first
            else { return }
            for entry in entries where service.isTelling(entry.key.objectPathValue ?? "") {
                let signal = Message.signal(
                    path: "/", interface: "org.freedesktop.DBus.ObjectManager", member: "InterfacesAdded",
                    [entry.key, entry.value], destination: caller.name)
                if let message = RelayMessage(signal) { link.pass(sent: message) }
            }
        }
    }
}
