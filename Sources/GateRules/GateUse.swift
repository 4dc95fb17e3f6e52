// What a program uses a service for until it ends that, so that people can see it.

/// A search, an advertisement, a connected device, or a client that is told the location.
package struct GateUse: Sendable, Hashable {
    package let path: String
    /// Of the members that begin it, the first.
    package let member: String
}

extension GatedService {
    /// Calls to one object, of which any begins the use. A call without an interface counts as well.
    package struct UseRow: Sendable {
        let interface: String
        let begin: [String]
        let end: String
        /// Of a use that goes on after its caller's end: the property of the object that is false when it is over.
        var lastsWhile: String?

        func use(of path: String) -> GateUse { GateUse(path: path, member: begin[0]) }
    }

    /// The use that a call begins, if the service does not refuse it.
    package func use(begunBy call: GatedCall) -> GateUse? {
        row(call) { $0.begin.contains(call.member) }?.use(of: call.path)
    }

    package func use(endedBy call: GatedCall) -> GateUse? {
        row(call) { $0.end == call.member }?.use(of: call.path)
    }

    /// The use of an object that is over when a property of it becomes false, and that property.
    package func lasting(at path: String) -> (use: GateUse, property: String)? {
        useRows.lazy.compactMap { row in row.lastsWhile.map { (row.use(of: path), $0) } }.first
    }

    /// Of a use that goes on after its caller's end, its interface, the property that says so, and the member that ends it.
    package func lasting(_ use: GateUse) -> (interface: String, property: String, end: String)? {
        useRows.first { $0.use(of: use.path) == use }.flatMap { row in
            row.lastsWhile.map { (row.interface, $0, row.end) }
        }
    }

    private func row(_ call: GatedCall, _ fits: (UseRow) -> Bool) -> UseRow? {
        useRows.first { fits($0) && (call.interface ?? $0.interface) == $0.interface }
    }
}
