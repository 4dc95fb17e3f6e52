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

    /// How often an owner that is not trusted may be replaced by another before that is the answer.
    private static let maximumOwners = 8
    /// How often, and after how many milliseconds, an owner that is not trusted is looked at again. A process that is killed
    /// loses what identifies it before its connections end, of which only the bus tells.
    private static let (maximumLooks, pause): (Int, Int64) = (10, 50)

    /// Passes the unique name of the owner. Only the bus and the kernel are asked, never the owner itself. Completions run
    /// in the order of the calls if the judge's do and it objects to none.
    ///
    /// - Parameter starts: Whether the bus starts the service if the name has no owner.
    package func find(starts: Bool = false, _ completion: @escaping @LoopActor (Result<String, Refusal>) -> Void) {
        find(Search(starts: starts, completion: completion))
    }

    private struct Search {
        let starts: Bool
        var owners = 0
        /// At the present one.
        var looks = 1
        let completion: @LoopActor (Result<String, Refusal>) -> Void
    }

    private func find(_ search: Search) {
        connection.call(.busCall("GetNameOwner", [.string(name)])) { reply in
            switch reply {
            case .success(let message): judge(message.body.first?.stringValue ?? "", search)
            case .failure(let error) where search.starts && error.name == BusError.Name.nameHasNoOwner: start(search)
            case .failure(let error): search.completion(.failure(.absent(error)))
            }
        }
    }

    private func start(_ search: Search) {
        connection.call(.busCall("StartServiceByName", [.string(name), .uint32(0)])) { reply in
            if case .failure(let error) = reply { return search.completion(.failure(.absent(error))) }
            find(search)
        }
    }

    private func judge(_ owner: String, _ search: Search) {
        objection(owner) { reason in
            guard let reason else { return search.completion(.success(owner)) }
            confirm(owner, calls: 2) { isOwner in
                var next = search
                let limit = isOwner ? BusNameOwner.maximumLooks : BusNameOwner.maximumOwners
                guard (isOwner ? search.looks : search.owners) < limit else {
                    return search.completion(.failure(.untrusted(owner: owner, reason: reason)))
                }
                if isOwner {
                    next.looks += 1
                    Loop.shared.after(milliseconds: BusNameOwner.pause) { [next] in find(next) }
                } else {
                    (next.owners, next.looks) = (next.owners + 1, 1)
                    find(next)
                }
            }
        }
    }

    /// Passes whether the owner still has the name. An owner that has just ended cannot be identified. The bus handles what
    /// arrives at the same moment in any order, so only the second call is certain to come after the end.
    private func confirm(_ owner: String, calls: Int, _ completion: @escaping @LoopActor (Bool) -> Void) {
        connection.call(.busCall("GetNameOwner", [.string(name)])) { reply in
            let isOwner = (try? reply.get())?.body.first?.stringValue == owner
            if isOwner, calls > 1 { return confirm(owner, calls: calls - 1, completion) }
            completion(isOwner)
        }
    }
}
