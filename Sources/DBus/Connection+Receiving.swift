// Incoming messages: decoded within limits, and only if a handler wants them; calls not before their caller's turn.

import CDBus
import Glibc

extension Connection {
    /// File descriptors of received but unhandled messages at which reading pauses.
    private static let maximumReceivedDescriptors = 128
    /// The kernel's SCM_MAX_FD (unix(7)): dbus-broker forwards messages with that many descriptors. By default libdbus
    /// expects 16 and disconnects when more arrive.
    static let maximumMessageDescriptors = 253

    /// Limits received descriptors. One message beyond `maximumReceivedDescriptors` may still be read. If RLIMIT_NOFILE
    /// is low, received descriptors use at most a quarter of it.
    func boundDescriptors() {
        var limit = rlimit()
        var most = Connection.maximumReceivedDescriptors
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            most = min(most, max(1, Int(clamping: limit.rlim_cur) / 4))
        }
        dbus_connection_set_max_received_unix_fds(raw, most)
        dbus_connection_set_max_message_unix_fds(raw, Connection.maximumMessageDescriptors)
    }

    /// Handles messages that must not be queued because they would hold descriptors or memory for nothing: unsolicited
    /// replies, and calls and signals with unwanted descriptors. Returns true if the message needs no further handling.
    func isSettledAtOnce(_ raw: OpaquePointer) -> Bool {
        let type = dbus_message_get_type(raw)
        if type == DBUS_MESSAGE_TYPE_METHOD_RETURN || type == DBUS_MESSAGE_TYPE_ERROR {
            return replies[dbus_message_get_reply_serial(raw)] == nil
        }
        guard dbus_message_contains_unix_fds(raw) != 0 else { return false }
        let header = Message.header(of: raw)
        if type == DBUS_MESSAGE_TYPE_SIGNAL { return !takesDescriptors(ofSignal: header) }
        if takesDescriptors(header) { return false }
        refuseDescriptors(of: header)
        return true
    }

    func receiveReply(_ header: Message, _ raw: OpaquePointer) {
        guard let pending = replies[header.replySerial], pending.origin.admits(header) else { return }
        let isError = header.kind == .error
        let budget = DecodingBudget(
            isError ? DecodingBudget.errors : maximumReply, takesDescriptors: !isError)
        var message = header
        let problem = message.readBody(of: raw, within: budget)
        if isError {
            let text = message.body.first?.stringValue ?? ""
            pending.finish(
                .failure(
                    BusError(name: message.errorName ?? BusError.Name.failed, message: text, body: message.body)))
        } else if problem != nil {
            pending.finish(
                .failure(BusError(name: BusError.Name.limitsExceeded, message: "the reply is too large")))
        } else {
            pending.finish(.success(message))
        }
    }

    /// The subscriptions that want a signal, by all but its body.
    private func patterns(fitting header: Message) -> [SignalPattern] {
        signals.entries.map(\.pattern).filter { $0.fitsHeader(header, owner: owner(of: $0)) }
    }

    private func takesDescriptors(ofSignal header: Message) -> Bool {
        patterns(fitting: header).contains(where: \.takesDescriptors)
    }

    /// Decodes a signal only if a subscription wants it.
    func receiveSignal(_ header: Message, _ raw: OpaquePointer) {
        guard header.path != nil, !patterns(fitting: header).isEmpty else { return }
        var message = header
        let hasDescriptors = dbus_message_contains_unix_fds(raw) != 0
        let budget =
            hasDescriptors ? .descriptors : DecodingBudget(DecodingBudget.strangers, takesDescriptors: false)
        if message.readBody(of: raw, within: budget) == nil { deliver(message) }
    }

    /// Keeps a call until its caller's turn. With it, all descriptors that were sent would be kept, so a call with
    /// descriptors is decoded at once and has little content besides.
    func receiveCall(_ header: Message, _ raw: OpaquePointer) {
        var call = header
        let hasDescriptors = dbus_message_contains_unix_fds(raw) != 0
        switch call.path == nil
            ? .tooLarge : hasDescriptors ? call.readBody(of: raw, within: .descriptors) : call.keepBody(of: raw)
        {
        case nil: schedule(call)
        case .malformed: refuseDescriptors(of: call)
        case .tooLarge: refuseSize(of: call)
        }
    }

    func refuseSize(of call: Message) {
        let text = "the call has more content than a valid one, or its path more than \(DecodingBudget.path) bytes"
        reply(to: call, error: BusError.Name.limitsExceeded, [.string(text)])
    }

    /// Releases all handlers, which may hold references to the connection.
    func letGo() {
        methodHandler = nil
        objectHandler = nil
        findCaller = nil
        floodHandler = nil
        unwantedDescriptorsHandler = nil
        signals = SignalTable()
        owners = [:]
        calledOwners = [:]
    }

    private func refuseDescriptors(of call: Message) {
        if let unwantedDescriptorsHandler { return unwantedDescriptorsHandler(call) }
        reply(to: call, error: BusError.Name.invalidArgs, [.string("file descriptors are not accepted")])
    }
}
