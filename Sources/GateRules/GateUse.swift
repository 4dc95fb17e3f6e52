// What a program uses a service for until it ends that, so that people can see it.

/// A search, an advertisement, a connected device, or a client that is told the location.
package struct GateUse: Sendable, Hashable {
    package let path: String
    /// The member that began it.
    package let member: String
}

extension GatedService {
    /// A pair of calls to one object. A call without an interface counts as well.
    package struct UseRow: Sendable {
        let interface: String
        let begin: String
        let end: String
    }

    /// The use that a call begins, if the service does not refuse it.
    package func use(begunBy call: GatedCall) -> GateUse? {
        row(call) { $0.begin == call.member }.map { GateUse(path: call.path, member: $0.begin) }
    }

    package func use(endedBy call: GatedCall) -> GateUse? {
        row(call) { $0.end == call.member }.map { GateUse(path: call.path, member: $0.begin) }
    }

    /// The use of an object that is over when a property of it becomes false, and that property.
    package func lasting(at path: String) -> (use: GateUse, property: String)? {
        lastingUse.map { (GateUse(path: path, member: $0.member), $0.property) }
    }

    private func row(_ call: GatedCall, _ fits: (UseRow) -> Bool) -> UseRow? {
        useRows.first { fits($0) && (call.interface ?? $0.interface) == $0.interface }
    }
}
