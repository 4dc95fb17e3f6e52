// The trusted owner of a name on the bus. Any program can take a name that is free, so its owner is identified first; one
// that is sandboxed or cannot be identified is not trusted.

package import DBus

@LoopActor
package struct BusNameOwner {
    package enum Refusal: Error {
        /// The name has no owner, or the bus cannot start it.
        case absent(BusError)
        /// Its owner is not trusted.
        case untrusted(owner: String, reason: String)
    }

    /// Passes why the program behind a unique name is not trusted; nil if it is.
    package typealias Judge = @LoopActor (String, @escaping @LoopActor (String?) -> Void) -> Void

    private let name: String
    private let connection: Connection
    private let objection: Judge

    package init(_ name: String, on connection: Connection, objection: @escaping Judge) {
        self.name = name
        self.connection = connection
        self.objection = objection
    }

    /// Passes the unique name of the owner. Only the bus and the kernel are asked, never the owner itself. Completions run
    /// in the order of the calls if the judge's do.
    ///
    /// - Parameter starts: Whether the bus starts the service if the name has no owner.
    package func find(starts: Bool = false, _ completion: @escaping @LoopActor (Result<String, Refusal>) -> Void) {
        connection.call(.busCall("GetNameOwner", [.string(name)])) { reply in
            switch reply {
            case .success(let message): judge(message.body.first?.stringValue ?? "", completion)
            case .failure(let error) where starts && error.name == BusError.Name.nameHasNoOwner: start(completion)
            case .failure(let error): completion(.failure(.absent(error)))
            }
        }
    }

    private func start(_ completion: @escaping @LoopActor (Result<String, Refusal>) -> Void) {
        connection.call(.busCall("StartServiceByName", [.string(name), .uint32(0)])) { reply in
            if case .failure(let error) = reply { return completion(.failure(.absent(error))) }
            find(completion)
        }
    }

    private func judge(_ owner: String, _ completion: @escaping @LoopActor (Result<String, Refusal>) -> Void) {
        objection(owner) { reason in
            completion(reason.map { .failure(.untrusted(owner: owner, reason: $0)) } ?? .success(owner))
        }
    }
}
