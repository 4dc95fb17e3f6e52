// Owning well-known names. The name is requested with an ordinary call, so that only a reply from the bus itself
// counts: dbus_bus_request_name() of libdbus accepts the first reply with the right serial, whoever sent it.

import CDBus

extension Connection {
    /// Milliseconds after which a bus that does not answer a blocking call counts as unusable.
    private static let patience: Int64 = 25_000
    /// The timeout of one wait for the socket, in milliseconds.
    private static let wait: Int32 = 1000

    /// Requests a well-known name. `completion` runs once, on the loop, with false if another connection owns the name.
    ///
    /// - Parameter queues: Whether the bus then gives it to this connection as soon as it is free.
    public func requestName(
        _ name: String, queues: Bool = false, completion: @escaping @LoopActor (Result<Bool, BusError>) -> Void
    ) {
        call(Connection.nameRequest(name, queues: queues)) { completion($0.map(Connection.isOwner)) }
    }

    /// A blocking variant for program startup. Calls that arrive meanwhile wait.
    ///
    /// - Parameter isReplaceable: Whether a connection that asks for it gets the name from this one.
    public func requestName(_ name: String, isReplaceable: Bool = false) throws(BusError) -> Bool {
        guard isConnected else { throw Connection.gone }
        var answer: Result<Message, BusError>?
        let pending = call(Connection.nameRequest(name, isReplaceable: isReplaceable)) { answer = $0 }
        let end = Loop.uptimeMilliseconds() + Connection.patience
        while answer == nil, isConnected, Loop.uptimeMilliseconds() < end {
            while isConnected, dbus_connection_dispatch(raw) == DBUS_DISPATCH_DATA_REMAINS {}
            if answer == nil, isConnected { dbus_connection_read_write(raw, Connection.wait) }
        }
        pending.cancel()
        guard let answer else {
            throw BusError(name: BusError.Name.noReply, message: "the bus did not answer in time")
        }
        return Connection.isOwner(try answer.get())
    }

    /// Calls a method of the bus itself. Passes the first value of the reply; nil after an error, or if there is none.
    public func askBus(_ member: String, _ arguments: Value..., then: @escaping @LoopActor (Value?) -> Void) {
        call(.busCall(member, arguments)) { then((try? $0.get())?.body.first) }
    }

    private static func nameRequest(
        _ name: String, queues: Bool = false, isReplaceable: Bool = false
    ) -> Message {
        let flags =
            (queues ? 0 : UInt32(DBUS_NAME_FLAG_DO_NOT_QUEUE))
            | (isReplaceable ? UInt32(DBUS_NAME_FLAG_ALLOW_REPLACEMENT) : 0)
        return .busCall("RequestName", [.string(name), .uint32(flags)])
    }

    private static func isOwner(_ reply: Message) -> Bool {
        let code = reply.body.first?.uint32Value
        return code == UInt32(DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER)
            || code == UInt32(DBUS_REQUEST_NAME_REPLY_ALREADY_OWNER)
    }
}
