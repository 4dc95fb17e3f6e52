// A connection to a message bus, on the loop: calls, replies, signals, names.

import CDBus
import CLinux

/// A private libdbus connection that is registered with the bus and used only on the loop.
@LoopActor
public final class Connection {
    /// Bytes of unhandled messages at which reading pauses, so that a flood takes limited memory.
    private static let maximumReceived = 16 << 20
    /// Messages dispatched before waiting calls, timers and other descriptors get their turn, and the nanoseconds of
    /// processor time for which messages are read and dispatched: as long as a turn of calls.
    private static let dispatchBatch = 64
    private static let dispatchTime: Int64 = 2_000_000

    public let uniqueName: String
    public private(set) var isConnected = true
    /// Receives every incoming method call. If nil, calls go to the ``ObjectServer``; without one they are answered with
    /// UnknownMethod, unless ``queuesCalls`` is set.
    public var methodHandler: (@LoopActor (Message) -> Void)? {
        didSet { if !calls.isEmpty { serveLater() } }
    }
    /// Receives calls that are not decoded yet.
    var objectHandler: (@LoopActor (Message) -> Void)? {
        didSet { if !calls.isEmpty { serveLater() } }
    }
    /// Finds out in whose turn a call is served, and passes a name for that caller, now or later, or answers the call
    /// itself. If nil, each connection is a caller.
    public var findCaller: (@LoopActor (Message, _ found: @escaping @LoopActor (String) -> Void) -> Void)? {
        didSet {
            var waiting: [Message] = []
            while let call = calls.take() { waiting.append(call) }
            for call in waiting { schedule(call) }
        }
    }
    /// Whether calls wait until there is a handler. A program that requests a name before it can serve sets
    /// this: the bus delivers the calls that it started the program for before its reply to RequestName.
    public var queuesCalls = false
    /// Receives calls of a sender that already has too much waiting. If nil, they are answered with LimitsExceeded.
    public var floodHandler: (@LoopActor (Message) -> Void)?
    /// Whether a call with this header may carry file descriptors. If not, they are closed before the call waits for
    /// anything, and the call goes to `unwantedDescriptorsHandler` without its arguments.
    public var takesDescriptors: @LoopActor (_ header: Message) -> Bool = { _ in true }
    var unwantedDescriptorsHandler: (@LoopActor (Message) -> Void)?
    /// The maximum content of a reply in bytes; a larger reply is reported as an error.
    public var maximumReply = DecodingBudget.replies

    // SAFETY: used by extensions in this module, only on the loop.
    let raw: OpaquePointer
    private let watches: Watches
    var replies: [UInt32: PendingCall] = [:]
    var signals = SignalTable()
    private var disconnectHandlers: [@LoopActor () -> Void] = []
    var owners: [String: NameOwner] = [:]
    /// The owners of called well-known names, bounded by the names this program calls.
    var calledOwners: [String: NameOwner] = [:]
    private var isDispatchQueued = false
    private let calls = CallScheduler<Message>()
    private var isServing = false

    // SAFETY: `raw` was opened by this module and is closed and released only in `disconnected`; the filter is removed
    // first.
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
        watches.onRead = { [unowned self] in queueDispatch() }
        watches.install()
        Connection.all[raw] = self
        // Messages may have arrived together with the reply to Hello.
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

    /// Dispatches pending messages in a later turn, as libdbus must not be re-entered from its own callbacks.
    private func queueDispatch() {
        guard !isDispatchQueued else { return }
        isDispatchQueued = true
        Loop.shared.later { self.dispatch() }
    }

    /// libdbus reads 2048 bytes at a time, which may be part of a message, so this reads on.
    private func dispatch() {
        isDispatchQueued = false
        guard isConnected else { return }
        let end = Loop.nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) + Connection.dispatchTime
        var dispatched = 0
        repeat {
            if hasMessages {
                dbus_connection_dispatch(raw)
                dispatched += 1
            } else if !watches.readAgain() {
                return
            }
        } while isConnected && dispatched < Connection.dispatchBatch
            && Loop.nanoseconds(of: CLOCK_THREAD_CPUTIME_ID) < end
        guard isConnected, hasMessages else { return }
        isDispatchQueued = true
        Loop.shared.afterPoll { self.dispatch() }
    }

    private var hasMessages: Bool { dbus_connection_get_dispatch_status(raw) == DBUS_DISPATCH_DATA_REMAINS }

    /// Queues a call for its caller's turn. libdbus holds nothing of it, so waiting calls never pause reading. Replies
    /// and signals bypass this queue.
    func schedule(_ call: Message) {
        guard let findCaller else { return schedule(call, of: call.sender ?? "") }
        findCaller(call) { [weak self] in self?.schedule(call, of: $0) }
    }

    private func schedule(_ call: Message, of caller: String) {
        guard calls.add(call, of: caller, content: call.contentSize) == .waits else { return refuse(call) }
        serveLater()
    }

    private func serveLater() {
        guard !isServing, methodHandler != nil || objectHandler != nil || !queuesCalls else { return }
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
        if let methodHandler {
            var call = call
            return call.decode() == nil ? methodHandler(call) : refuseSize(of: call)
        }
        if let objectHandler { return objectHandler(call) }
        reply(to: call, error: BusError.Name.unknownMethod, [.string("this connection serves no methods")])
    }

    private func refuse(_ call: Message) {
        if let floodHandler { return floodHandler(call) }
        let text = "too many calls from this connection are already waiting"
        reply(to: call, error: BusError.Name.limitsExceeded, [.string(text)])
    }

    /// Keeps open connections alive until they are closed, because libdbus holds unretained pointers to them.
    private static var all: [OpaquePointer: Connection] = [:]

    /// Disconnects from the bus. Pending calls fail; `onDisconnect` handlers are not called.
    public func close() {
        disconnectHandlers = []
        disconnected()
    }

    /// Calls `body` once when the connection is lost; if it is already lost, in the next turn.
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
        // Released in a later turn, because this may run inside one of its callbacks.
        Loop.shared.later {
            dbus_connection_remove_filter(self.raw, Connection.filter, Unmanaged.passUnretained(self).toOpaque())
            Connection.all[self.raw] = nil
            dbus_connection_unref(self.raw)
            self.letGo()
        }
    }

    /// The socket to the bus, still owned by this object; -1 once it is closed.
    public var socket: Int32 {
        guard isConnected else { return -1 }
        var descriptor: Int32 = -1
        return dbus_connection_get_unix_fd(raw, &descriptor) != 0 ? descriptor : -1
    }

    // MARK: Sending

    /// Queues a message. One that cannot be encoded is a bug of the caller and is dropped.
    public func send(_ message: Message) { _ = post(message) }

    /// Returns the serial, or why the message was not sent.
    private func post(_ message: Message) -> Result<UInt32, BusError> {
        guard isConnected else { return .failure(Connection.gone) }
        do throws(EncodingError) {
            let encoded = try message.encoded()
            defer { dbus_message_unref(encoded) }
            return send(encoded: encoded)
        } catch {
            return .failure(BusError(name: BusError.Name.invalidArgs, message: error.description))
        }
    }

    /// Sends a message that the caller still owns. Returns its serial, or why it was not sent.
    @discardableResult
    func send(encoded message: OpaquePointer) -> Result<UInt32, BusError> {
        guard isConnected else { return .failure(Connection.gone) }
        var serial: dbus_uint32_t = 0
        guard dbus_connection_send(raw, message, &serial) != 0 else {
            return .failure(BusError(name: BusError.Name.failed, message: "out of memory sending a message"))
        }
        return .success(serial)
    }

    /// Sends all queued messages, blocking until done. For use before the program exits.
    public func flush() { if isConnected { dbus_connection_flush(raw) } }

    /// Calls a method. `completion` runs once, on the loop, in a later turn. A nil timeout waits indefinitely, for
    /// replies that depend on a person.
    @discardableResult
    public func call(
        _ message: Message, timeoutMilliseconds: Int32? = 25_000,
        _ completion: @escaping @LoopActor (Result<Message, BusError>) -> Void
    ) -> PendingCall {
        let pending = PendingCall(origin: replyOrigin(of: message), completion)
        let serial: UInt32
        switch post(message) {
        case .success(let sent): serial = sent
        case .failure(let error):
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

    /// Calls a method. Cancelling the task stops waiting; the callee is not notified.
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
        if case .failure(let problem) = post(message), kind == .methodReturn {
            answer(call, .error, [.string(problem.message)], BusError.Name.failed)
        }
    }

    // MARK: Receiving

    private func receive(_ raw: OpaquePointer) {
        let message = Message.header(of: raw)
        switch message.kind {
        case .methodReturn, .error: receiveReply(message, raw)
        case .signal:
            // libdbus's local message has no sender; messages from peers always have one, set by the bus.
            if message.interface == StandardInterfaces.local, message.sender == nil {
                if message.member == "Disconnected" { disconnected() }
            } else {
                receiveSignal(message, raw)
            }
        case .methodCall: receiveCall(message, raw)
        }
    }

    private func failCalls() {
        for (_, pending) in replies.sorted(by: { $0.key < $1.key }) { pending.finish(.failure(Connection.gone)) }
    }

    static let gone = BusError(name: BusError.Name.disconnected, message: "the connection to the bus is closed")
}
