// A connection to a message bus, on the loop: calls, replies, signals, names.

import CDBus
import CLinux
import Glibc

/// Which bus to connect to.
public enum BusAddress: Sendable, Hashable {
    /// `$DBUS_SESSION_BUS_ADDRESS`, else the user's bus in `$XDG_RUNTIME_DIR`.
    case session
    /// `$DBUS_SYSTEM_BUS_ADDRESS`, else the well-known socket.
    case system
    case address(String)

    var text: String? {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        switch self {
        case .address(let address): return address
        case .session:
            return variable("DBUS_SESSION_BUS_ADDRESS") ?? variable("XDG_RUNTIME_DIR").map { "unix:path=\($0)/bus" }
        case .system: return variable("DBUS_SYSTEM_BUS_ADDRESS") ?? "unix:path=/var/run/dbus/system_bus_socket"
        }
    }
}

/// A private libdbus connection, registered with the bus. Everything on it happens on the loop.
@LoopActor
public final class Connection {
    /// Bytes of received messages not yet handled, after which reading pauses: bounds what a flood can make us hold.
    private static let maximumReceived = 16 << 20

    public let uniqueName: String
    public private(set) var isConnected = true
    /// Every incoming method call; without one they are answered UnknownMethod.
    public var methodHandler: (@LoopActor (Message) -> Void)?

    private let raw: OpaquePointer
    private let watches: Watches
    private var replies: [UInt32: PendingCall] = [:]
    private var signals = SignalTable()
    private var disconnectHandlers: [@LoopActor () -> Void] = []
    /// Dispatching needs no hook once closed.
    private let dispatch: DispatchHook

    /// Connects and says Hello. Blocks for the round trip; meant for a program's start.
    public static func open(_ address: BusAddress) throws(BusError) -> Connection {
        guard let text = address.text else {
            throw BusError(
                name: BusError.Name.noServer,
                message: "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR says where the session bus is")
        }
        dbus_threads_init_default()
        var error = DBusError()
        dbus_error_init(&error)
        guard let raw = dbus_connection_open_private(text, &error) else { throw take(&error) }
        dbus_connection_set_exit_on_disconnect(raw, 0)
        guard dbus_bus_register(raw, &error) != 0 else {
            dbus_connection_close(raw)
            dbus_connection_unref(raw)
            throw take(&error)
        }
        return Connection(raw)
    }

    // SAFETY: `raw` was opened by us and is closed and released in `close` only; the filter is removed before.
    private init(_ raw: OpaquePointer) {
        self.raw = raw
        uniqueName = String(cString: dbus_bus_get_unique_name(raw))
        watches = Watches(connection: raw)
        dispatch = DispatchHook(raw)
        dbus_connection_set_max_received_size(raw, Connection.maximumReceived)
        dbus_connection_add_filter(
            raw,
            { _, message, context in
                guard let message, let context else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
                let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
                LoopActor.assumeIsolated { connection.receive(message) }
                return DBUS_HANDLER_RESULT_HANDLED
            }, Unmanaged.passUnretained(self).toOpaque(), nil)
        watches.install()
        Connection.all[raw] = self
    }

    /// Open connections stay alive without an owner, until closed: libdbus refers to them.
    private static var all: [OpaquePointer: Connection] = [:]

    /// Leaves the bus. Calls under way fail, `onDisconnect` handlers are not called.
    public func close() {
        guard Connection.all.removeValue(forKey: raw) != nil else { return }
        isConnected = false
        disconnectHandlers = []
        dispatch.stop()
        watches.uninstall()
        dbus_connection_close(raw)
        failCalls()
        // Released in a turn of its own: we may be inside one of its callbacks.
        let raw = raw
        Loop.shared.after(milliseconds: 0) { dbus_connection_unref(raw) }
    }

    /// Called once when the bus has gone.
    public func onDisconnect(_ body: @escaping @LoopActor () -> Void) { disconnectHandlers.append(body) }

    // MARK: Names

    /// Asks for a well-known name, without queueing for it. False: someone else has it. Blocks for the round trip.
    public func requestName(_ name: String, replace: Bool = false) throws(BusError) -> Bool {
        var error = DBusError()
        dbus_error_init(&error)
        let flags = UInt32(DBUS_NAME_FLAG_DO_NOT_QUEUE) | (replace ? UInt32(DBUS_NAME_FLAG_REPLACE_EXISTING) : 0)
        let result = dbus_bus_request_name(raw, name, flags, &error)
        guard result >= 0 else { throw Connection.take(&error) }
        return result == DBUS_REQUEST_NAME_REPLY_PRIMARY_OWNER || result == DBUS_REQUEST_NAME_REPLY_ALREADY_OWNER
    }

    public func releaseName(_ name: String) {
        send(Connection.busCall("ReleaseName", [.string(name)], noReply: true))
    }

    // MARK: Sending

    /// Queues a message; the loop sends it. What cannot be encoded is a bug of the caller and is not sent.
    public func send(_ message: Message) { _ = post(message) }

    /// The serial, nil when it was not sent.
    private func post(_ message: Message) -> (serial: UInt32?, problem: BusError?) {
        guard isConnected else {
            return (nil, BusError(name: BusError.Name.disconnected, message: "the connection to the bus is closed"))
        }
        do throws(EncodingError) {
            let encoded = try message.encoded()
            defer { dbus_message_unref(encoded) }
            var serial: dbus_uint32_t = 0
            guard dbus_connection_send(raw, encoded, &serial) != 0 else {
                return (nil, BusError(name: BusError.Name.failed, message: "no memory to send a message"))
            }
            return (serial, nil)
        } catch {
            return (nil, BusError(name: BusError.Name.invalidArgs, message: error.description))
        }
    }

    /// Sends what is queued; blocks until it is sent. For a program's end.
    public func flush() { if isConnected { dbus_connection_flush(raw) } }

    /// Calls a method; `completion` runs once, on the loop, in a later turn. No timeout for nil: a person may be answering.
    @discardableResult
    public func call(
        _ message: Message, timeoutMilliseconds: Int32? = 25_000,
        _ completion: @escaping @LoopActor (Result<Message, BusError>) -> Void
    ) -> PendingCall {
        let pending = PendingCall(completion)
        let (serial, problem) = post(message)
        guard let serial else {
            let error = problem ?? BusError(name: BusError.Name.failed, message: "the message was not sent")
            Loop.shared.after(milliseconds: 0) { pending.finish(.failure(error)) }
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
                slot.pending = call(message, timeoutMilliseconds: timeoutMilliseconds) { continuation.resume(returning: $0) }
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
        var message = Message(kind: kind)
        message.destination = call.sender
        message.replySerial = call.serial
        message.errorName = errorName
        message.body = body
        if let problem = post(message).problem, kind == .methodReturn {
            answer(call, .error, [.string(problem.message)], BusError.Name.failed)
        }
    }

    // MARK: Signals

    /// Calls `handler` for each signal that fits; nil fits all. Without `addMatch` only unicast ones come.
    @discardableResult
    public func onSignal(
        sender: String? = nil, path: String? = nil, interface: String? = nil, member: String? = nil,
        firstArgument: String? = nil, addMatch: Bool = true, _ handler: @escaping @LoopActor (Message) -> Void
    ) -> SignalToken {
        let pattern = SignalPattern(
            sender: sender, path: path, interface: interface, member: member, firstArgument: firstArgument)
        let id = signals.add(pattern, handler)
        let rule = pattern.matchRule
        if addMatch { send(Connection.busCall("AddMatch", [.string(rule)], noReply: true)) }
        return SignalToken { [weak self] in
            guard let self else { return }
            signals.remove(id, pattern)
            if addMatch { send(Connection.busCall("RemoveMatch", [.string(rule)], noReply: true)) }
        }
    }

    /// Calls `body` once when that name has no owner any more. One match for this name alone: nobody else's comings and
    /// goings wake us.
    public func whenNameVanishes(_ name: String, _ body: @escaping @LoopActor () -> Void) -> SignalToken {
        onSignal(
            sender: "org.freedesktop.DBus", interface: "org.freedesktop.DBus", member: "NameOwnerChanged",
            firstArgument: name
        ) { message in
            if message.body.count == 3, message.body[2].stringValue == "" { body() }
        }
    }

    // MARK: Receiving

    private func receive(_ rawMessage: OpaquePointer) {
        let (message, problem) = Message.read(rawMessage)
        switch message.kind {
        case .methodReturn, .error:
            guard let pending = replies[message.replySerial] else { return }
            if message.kind == .error {
                let text = message.body.first?.stringValue ?? ""
                pending.finish(
                    .failure(BusError(name: message.errorName ?? BusError.Name.failed, message: text, body: message.body)))
            } else if problem != nil {
                pending.finish(.failure(BusError(name: BusError.Name.limitsExceeded, message: "the reply is too large")))
            } else {
                pending.finish(.success(message))
            }
        case .signal:
            if message.interface == "org.freedesktop.DBus.Local" {
                if message.member == "Disconnected" { disconnected() }
            } else if problem == nil {
                signals.deliver(message)
            }
        case .methodCall:
            if problem != nil {
                let text = "the call carries more than \(DecodingBudget.limit >> 20) MiB"
                reply(to: message, error: BusError.Name.limitsExceeded, [.string(text)])
            } else if let methodHandler {
                methodHandler(message)
            } else {
                reply(to: message, error: BusError.Name.unknownMethod, [.string("no methods are served here")])
            }
        }
    }

    private func disconnected() {
        guard isConnected else { return }
        isConnected = false
        let handlers = disconnectHandlers
        disconnectHandlers = []
        failCalls()
        for handler in handlers { handler() }
    }

    private func failCalls() {
        let error = BusError(name: BusError.Name.disconnected, message: "the bus has gone")
        for pending in replies.values.sorted(by: { $0.order < $1.order }) { pending.finish(.failure(error)) }
    }

    private static func busCall(_ member: String, _ body: [Value], noReply: Bool) -> Message {
        .call(
            destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
            member: member, body, noReply: noReply)
    }

    /// The error's texts; frees what libdbus allocated for it.
    private static func take(_ error: inout DBusError) -> BusError {
        defer { dbus_error_free(&error) }
        return BusError(
            name: error.name.map { String(cString: $0) } ?? BusError.Name.failed,
            message: error.message.map { String(cString: $0) } ?? "")
    }
}

/// A call that waits for its reply.
@LoopActor
public final class PendingCall {
    private static var count: UInt64 = 0

    private var completion: (@LoopActor (Result<Message, BusError>) -> Void)?
    fileprivate let order: UInt64
    fileprivate var timer: LoopTimer?
    fileprivate var onEnd: (@LoopActor () -> Void)?

    fileprivate init(_ completion: @escaping @LoopActor (Result<Message, BusError>) -> Void) {
        self.completion = completion
        PendingCall.count += 1
        order = PendingCall.count
    }

    /// The completion is never called.
    public func cancel() {
        completion = nil
        end()
    }

    fileprivate func finish(_ result: Result<Message, BusError>) {
        let completion = completion
        self.completion = nil
        end()
        completion?(result)
    }

    /// As if this came as the reply; for calls given up by their task.
    fileprivate func abandon() {
        finish(.failure(BusError(name: BusError.Name.noReply, message: "the call was cancelled")))
    }

    private func end() {
        timer?.cancel()
        timer = nil
        onEnd?()
        onEnd = nil
    }
}

/// Joins an async call with its cancellation, whichever comes first.
@LoopActor
private final class CallSlot {
    var pending: PendingCall?
    private(set) var isCancelled = false

    nonisolated init() {}

    func cancel() {
        isCancelled = true
        pending?.abandon()
    }
}

/// Drains what libdbus has read before the loop sleeps.
@LoopActor
private final class DispatchHook {
    private var connection: OpaquePointer?

    init(_ connection: OpaquePointer) {
        self.connection = connection
        Loop.shared.onBeforeSleep { [weak self] in self?.drain() ?? false }
    }

    func stop() { connection = nil }

    /// False when there is nothing to be called for any more.
    private func drain() -> Bool {
        while let connection {
            guard dbus_connection_dispatch(connection) == DBUS_DISPATCH_DATA_REMAINS else { return true }
        }
        return false
    }
}
