// An object of org.permd.Request1, from the call that makes it to its Response. Closed before the call is answered, it is
// withdrawn as soon as it is there.

package import DBus
import PermissionModel

@LoopActor
package final class RequestObject {
    /// It ends once, unless it is closed before.
    package enum End {
        /// The call failed, and there is no object.
        case refused(BusError)
        /// The results of the Response to a request that was answered or dismissed.
        case answered([String: Value])
        /// The results of the Response to one that failed. Empty if the Response cannot be understood.
        case failed([String: Value])
    }

    package let path: String
    /// Whether permd has accepted the request.
    package private(set) var isMade = false
    private let connection: Connection
    private let daemon: String
    private var response: Subscription?
    private var isClosed = false
    /// Nil once it has ended or is closed.
    private var onEnd: (@LoopActor (End) -> Void)?

    /// Subscribes to the Response, which may come with the answer to the call.
    ///
    /// - Parameters:
    ///   - daemon: The name of permd that is called.
    ///   - token: The last element of the path.
    package init(
        _ link: BusLink, on connection: Connection, daemon: String = BusNames.service, token: String,
        onEnd: @escaping @LoopActor (End) -> Void
    ) {
        path = BusNames.requestPath(owner: connection.uniqueName, token: token)
        self.connection = connection
        self.daemon = daemon
        self.onEnd = onEnd
        response = link.onSignal(BusNames.request, "Response", path: path, on: connection) { [weak self] in
            self?.responded($0)
        }
    }

    isolated deinit { response?.cancel() }

    /// Makes the call, whose options have the token.
    package func make(
        _ interface: String, _ member: String, _ body: [Value], onMade: @escaping @LoopActor () -> Void = {}
    ) {
        let call = Message.call(
            destination: daemon, path: BusNames.root, interface: interface, member: member, body)
        connection.call(call) { [self] reply in
            switch reply {
            case .success:
                isMade = true
                if isClosed { withdraw() } else if onEnd != nil { onMade() }
            case .failure(let error): end(.refused(error))
            }
        }
    }

    /// Withdraws the request, if it is still there. Nothing is told of it any more.
    package func close() {
        guard onEnd != nil else { return }
        onEnd = nil
        isClosed = true
        if isMade { withdraw() }
    }

    private func withdraw() {
        guard connection.isConnected else { return }
        connection.send(
            .call(
                destination: daemon, path: path, interface: BusNames.request, member: "Close", noReply: true,
                noAutoStart: true))
    }

    private func responded(_ message: Message) {
        guard message.body.count == 2, let code = message.body[0].uint32Value,
            let results = message.body[1].properties
        else { return end(.failed([:])) }
        end(code == 2 ? .failed(results) : .answered(results))
    }

    private func end(_ end: End) {
        guard let onEnd else { return }
        self.onEnd = nil
        onEnd(end)
    }
}
