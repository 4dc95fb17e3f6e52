// A connection to a message bus, on the loop: calls, replies, signals, names.

import CDBus
import CLinux

/// A private libdbus connection, registered with the bus. Everything on it happens on the loop.
@LoopActor
public final class Connection {
    /// Bytes of received messages not yet handled, after which reading pauses: bounds what a flood can make us hold.
    private static let maximumReceived = 16 << 20
    /// Messages read before timers and other descriptors get their turn.
    private static let dispatchBatch = 64
    /// Messages of one read after which more is read at once: libdbus stops behind 2048 bytes, where small calls are more.
    private static let fullRead = 8

    /// Given by the bus in its answer to Hello.
    public internal(set) var uniqueName: String
    public private(set) var isConnected = true
    /// Every incoming method call; without one they are answered UnknownMethod.
    public var methodHandler: (@LoopActor (Message) -> Void)?
    /// Calls of a sender that has too much waiting; without a handler they are answered LimitsExceeded.
    public var floodHandler: (@LoopActor (Message) -> Void)?
    /// Whether descriptors that come with a call are wanted. Unwanted ones are closed before the call waits for anything;
    /// it goes to `unwantedDescriptorsHandler` without its arguments.
    public var takesDescriptors = true
    public var unwantedDescriptorsHandler: (@LoopActor (Message) -> Void)?
    /// Bytes of a reply's content that are read; one with more is an error.
    public var maximumReply = DecodingBudget.replies

    // SAFETY: for extensions in this module, on the loop only.
    let raw: OpaquePointer
    private let watches: Watches
    var replies: [UInt32: PendingCall] = [:]
    var signals = SignalTable()
    private var disconnectHandlers: [@LoopActor () -> Void] = []
    var owners: [String: NameOwner] = [:]
    /// Of the names that were called: as many as the program itself knows.
    var calledOwners: [String: NameOwner] = [:]
    private var isDispatchQueued = false
    private let calls = CallScheduler<Message>()
    private var isServing = false

    // SAFETY: `raw` was opened by us and is closed and released in `close` only; the filter is removed before.
    init(_ raw: OpaquePointer, uniqueName: String) {
        self.raw = raw
        self.uniqueName = uniqueName
        watches = Watches(connection: raw)
        dbus_connection_set_max_received_size(raw, Connection.maximumReceived)
        boundDescriptors()
        let context = Unmanaged.passUnretained(self).toOpaque()
        dbus_connection_add_filter(raw, Connection.filter, context, nil)
        dbus_connection_set_dispatch_status_function(
            raw,
            { _, status, context in
                guard status == DBUS_DISPATCH_DATA_REMAINS, let context else { return }
                let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
                LoopActor.assumeIsolated { connection.queueDispatch() }
            }, context, nil)
        watches.onResume = { [unowned self] in queueDispatch() }
        watches.install()
        Connection.all[raw] = self
        // What came along with the answer to Hello.
        queueDispatch()
    }

    // SAFETY: libdbus calls it within dbus_connection_dispatch, on the loop's thread, while `all` holds the connection.
    private static let filter: DBusHandleMessageFunction = { _, message, context in
        guard let message, let context else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
        let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
        // SAFETY: used within this call only, on this thread.
        nonisolated(unsafe) let pointer = message
        LoopActor.assumeIsolated { if !connection.isSettledAtOnce(pointer) { connection.receive(pointer) } }
        return DBUS_HANDLER_RESULT_HANDLED
    }

    /// libdbus has messages for us; never from within its own calls, so a turn later.
    private func queueDispatch() {
        guard !isDispatchQueued else { return }
        isDispatchQueued = true
        Loop.shared.later { self.dispatch() }
    }

    private func dispatch() {
        isDispatchQueued = false
        var dispatched = 0
        var ofThisRead = 0
        while isConnected, dispatched < Connection.dispatchBatch {
            dispatched += 1
            ofThisRead += 1
            if dbus_connection_dispatch(raw) == DBUS_DISPATCH_DATA_REMAINS { continue }
            guard isConnected, ofThisRead >= Connection.fullRead else { break }
            ofThisRead = 0
            watches.readAgain()
        }
        if isConnected, dbus_connection_get_dispatch_status(raw) == DBUS_DISPATCH_DATA_REMAINS { queueDispatch() }
        watches.isBehind = isDispatchQueued
    }

    /// Takes a call up for its turn. It is decoded by now: libdbus keeps nothing of it, so reading never pauses because of
    /// calls that wait. Replies and signals do not come here and wait for nobody's calls.
    func schedule(_ call: Message) {
        guard calls.add(call, of: call.sender ?? "", content: call.contentSize) == .waits else { return refuse(call) }
        guard !isServing else { return }
        isServing = true
        Loop.shared.later { self.serve() }
    }

    private func serve() {
        isServing = false
        calls.beginTurn()
        while isConnected, let call = calls.takeInTurn() { handle(call) }
        guard isConnected, !calls.isEmpty else { return }
        isServing = true
        Loop.shared.afterPoll { self.serve() }
    }

    private func handle(_ call: Message) {
        if let methodHandler { return methodHandler(call) }
        reply(to: call, error: BusError.Name.unknownMethod, [.string("no methods are served here")])
    }

    private func refuse(_ call: Message) {
        if let floodHandler { return floodHandler(call) }
        let text = "too many calls of this connection wait already"
        reply(to: call, error: BusError.Name.limitsExceeded, [.string(text)])
    }

    /// Open connections stay alive without an owner, until closed: libdbus refers to them.
    private static var all: [OpaquePointer: Connection] = [:]

    /// Leaves the bus. Calls under way fail, `onDisconnect` handlers are not called.
    public func close() {
        disconnectHandlers = []
        disconnected()
    }

    /// Called once when the bus has gone; in the next turn, when it already has.
    public func onDisconnect(_ body: @escaping @LoopActor () -> Void) {
        guard isConnected else { return Loop.shared.later(body) }
        disconnectHandlers.append(body)
    }

    private func disconnected() {
        guard isConnected else { return }
        isConnected = false
        let handlers = disconnectHandlers
        disconnectHandlers = []
        watches.uninstall()
        dbus_connection_set_dispatch_status_function(raw, nil, nil, nil)
        dbus_connection_close(raw)
        failCalls()
        for handler in handlers { handler() }
        // Released in a turn of its own: we may be inside one of its callbacks.
        Loop.shared.later {
            dbus_connection_remove_filter(self.raw, Connection.filter, Unmanaged.passUnretained(self).toOpaque())
            Connection.all[self.raw] = nil
            dbus_connection_unref(self.raw)
            self.letGo()
        }
    }

    /// Whether ``arrivedAfter`` is kept up, at the cost of a system call for each wait of the loop.
    public func keepArrivals(_ keeps: Bool) { Loop.shared.watches.keepLooks(keeps) }

    /// What is being handled now arrived after that, in milliseconds of `Loop.uptimeMilliseconds()`: then there was nothing
    /// to read from the bus, or it had just come.
    public var arrivedAfter: Int64 { watches.arrivedAfter }

    /// The socket to the bus, which stays this object's; -1 once it is closed.
    public var socket: Int32 {
        var descriptor: Int32 = -1
        return dbus_connection_get_unix_fd(raw, &descriptor) != 0 ? descriptor : -1
    }

    // MARK: Sending

    /// Queues a message; the loop sends it. What cannot be encoded is a bug of the caller and is not sent.
    public func send(_ message: Message) { _ = post(message) }

    /// The serial, nil when it was not sent.
    private func post(_ message: Message) -> (serial: UInt32?, problem: BusError?) {
        guard isConnected else {
            return (nil, Connection.gone)
        }
        do throws(EncodingError) {
            let encoded = try message.encoded()
            defer { dbus_message_unref(encoded) }
            return send(encoded: encoded)
        } catch {
            return (nil, BusError(name: BusError.Name.invalidArgs, message: error.description))
        }
    }

    /// The serial, nil when it was not sent. The message stays the caller's.
    @discardableResult
    func send(encoded message: OpaquePointer) -> (serial: UInt32?, problem: BusError?) {
        guard isConnected else { return (nil, Connection.gone) }
        var serial: dbus_uint32_t = 0
        guard dbus_connection_send(raw, message, &serial) != 0 else {
            return (nil, BusError(name: BusError.Name.failed, message: "no memory to send a message"))
        }
        return (serial, nil)
    }

    /// Sends what is queued; blocks until it is sent. For a program's end.
    public func flush() { if isConnected { dbus_connection_flush(raw) } }

    /// Calls a method; `completion` runs once, on the loop, in a later turn. No timeout for nil: a person may be answering.
    @discardableResult
    public func call(
        _ message: Message, timeoutMilliseconds: Int32? = 25_000,
        _ completion: @escaping @LoopActor (Result<Message, BusError>) -> Void
    ) -> PendingCall {
        let pending = PendingCall(origin: replyOrigin(of: message), completion)
        let (serial, problem) = post(message)
        guard let serial else {
            let error = problem ?? BusError(name: BusError.Name.failed, message: "the message was not sent")
            Loop.shared.later { pending.finish(.failure(error)) }
            return pending
        }
        replies[serial] = pending
        pending.onEnd = { [weak self] in self?.replies[serial] = nil }
        if let timeoutMilliseconds {
            pending.timer = Loop.shared.after(milliseconds: Int64(timeoutMilliseconds)) {
                pending.finish(
                    .failure(
                        BusError(
                            name: BusError.Name.noReply,
                            message: "no reply came within \(timeoutMilliseconds / 1000) seconds")))
            }
        }
        return pending
    }

    /// Calls a method. Cancelling the task gives up waiting; the callee is not told.
    public func call(_ message: Message, timeoutMilliseconds: Int32? = 25_000) async throws(BusError) -> Message {
        let slot = CallSlot()
        let result: Result<Message, BusError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                slot.pending = call(message, timeoutMilliseconds: timeoutMilliseconds) {
                    continuation.resume(returning: $0)
                }
                if slot.isCancelled { slot.cancel() }
            }
        } onCancel: {
            Loop.shared.post { slot.cancel() }
        }
        return try result.get()
    }

    public func reply(to call: Message, _ body: [Value] = []) {
        answer(call, .methodReturn, body)
    }

    public func reply(to call: Message, error name: String, _ body: [Value]) {
        answer(call, .error, body, name)
    }

    private func answer(_ call: Message, _ kind: Message.Kind, _ body: [Value], _ errorName: String? = nil) {
        guard call.expectsReply else { return }
        var message = Message.answer(to: call, kind)
        message.errorName = errorName
        message.body = body
        if let problem = post(message).problem, kind == .methodReturn {
            answer(call, .error, [.string(problem.message)], BusError.Name.failed)
        }
    }

    // MARK: Receiving

    private func receive(_ raw: OpaquePointer) {
        let message = Message.header(of: raw)
        switch message.kind {
        case .methodReturn, .error: receiveReply(message, raw)
        case .signal:
            // libdbus's own word has no sender; what a peer sends has one, given by the bus.
            if message.interface == "org.freedesktop.DBus.Local", message.sender == nil {
                if message.member == "Disconnected" { disconnected() }
            } else {
                receiveSignal(message, raw)
            }
        case .methodCall: receiveCall(message, raw)
        }
    }

    private func failCalls() {
        for pending in replies.values.sorted(by: { $0.order < $1.order }) { pending.finish(.failure(Connection.gone)) }
    }

    static let gone = BusError(name: BusError.Name.disconnected, message: "the connection to the bus is closed")
}
