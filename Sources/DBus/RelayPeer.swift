// One side of a relay: a libdbus connection that says no Hello of its own, and passes messages on undecoded.

import CDBus
import CLinux

@LoopActor
package final class RelayPeer {
    /// Bytes that wait to be sent to one side at which the other one is not read. The service and the bus have bounds of
    /// their own, far above this.
    private static let maximumOutgoing = 4 << 20
    /// Bytes and descriptors of received messages at which reading pauses.
    private static let maximumReceived = 16 << 20
    /// Messages that are passed on before timers and other descriptors have their turn.
    private static let dispatchBatch = 64
    /// Milliseconds after which a side that was not read is looked at again.
    private static let pause: Int64 = 10
    /// Keeps open connections alive, since libdbus holds unretained pointers to them.
    private static var all: [OpaquePointer: RelayPeer] = [:]

    package var onMessage: (@LoopActor (RelayMessage) -> Void)?
    /// Called once, after the other side has left; not after ``close()``.
    package var onClose: (@LoopActor () -> Void)?
    /// The side that gets what is read here: while much waits to be sent there, nothing is read.
    package weak var other: RelayPeer?
    // SAFETY: this object's, until `close`.
    private let raw: OpaquePointer
    private let watches: Watches
    package private(set) var isOpen = true
    private var isDispatchQueued = false

    /// Connects to a bus, without Hello. It may be called where nothing blocks: the address is that of a local socket, and
    /// libdbus authenticates later.
    package convenience init(to address: BusAddress) throws(BusError) {
        var error = DBusError()
        dbus_error_init(&error)
        defer { dbus_error_free(&error) }
        guard let text = address.text, let raw = dbus_connection_open_private(text, &error) else {
            throw BusError(name: BusError.Name.noServer, message: error.message.map { String(cString: $0) } ?? "")
        }
        self.init(raw)
    }

    // SAFETY: the filter and the watch functions are removed in `close`; `all` keeps the object until then.
    init(_ raw: OpaquePointer) {
        self.raw = raw
        watches = Watches(connection: raw)
        dbus_connection_set_exit_on_disconnect(raw, 0)
        // Otherwise libdbus answers calls of org.freedesktop.DBus.Peer itself.
        dbus_connection_set_route_peer_messages(raw, 1)
        dbus_connection_set_max_received_size(raw, RelayPeer.maximumReceived)
        dbus_connection_set_max_message_unix_fds(raw, Connection.maximumMessageDescriptors)
        dbus_connection_add_filter(raw, RelayPeer.filter, Unmanaged.passUnretained(self).toOpaque(), nil)
        watches.onRead = { [unowned self] in queueDispatch() }
        watches.install()
        RelayPeer.all[raw] = self
        queueDispatch()
    }

    // SAFETY: libdbus calls it within dbus_connection_dispatch, on the loop's thread, while `all` holds the object.
    private static let filter: DBusHandleMessageFunction = { _, message, context in
        guard let message, let context else { return DBUS_HANDLER_RESULT_NOT_YET_HANDLED }
        let peer = Unmanaged<RelayPeer>.fromOpaque(context).takeUnretainedValue()
        // SAFETY: used within this call only, on this thread.
        nonisolated(unsafe) let pointer = message
        LoopActor.assumeIsolated { peer.received(pointer) }
        return DBUS_HANDLER_RESULT_HANDLED
    }

    private func received(_ message: OpaquePointer) {
        // libdbus makes this signal itself. The other side's messages, if it is a service, have no sender either, but
        // libdbus lets none of that interface through.
        if dbus_message_is_signal(message, StandardInterfaces.local, "Disconnected") != 0 {
            let onClose = onClose
            close()
            onClose?()
        } else {
            onMessage?(RelayMessage(message))
        }
    }

    /// Sends a message, which gets a serial if it has none. Returns the serial, or 0 if nothing was sent.
    @discardableResult
    package func send(_ message: RelayMessage) -> UInt32 {
        guard isOpen else { return 0 }
        var serial: dbus_uint32_t = 0
        dbus_connection_send(raw, message.raw, &serial)
        return serial
    }

    private var hasRoom: Bool { dbus_connection_get_outgoing_size(raw) < RelayPeer.maximumOutgoing }

    private var hasMessages: Bool { dbus_connection_get_dispatch_status(raw) == DBUS_DISPATCH_DATA_REMAINS }

    private func queueDispatch() {
        guard !isDispatchQueued else { return }
        isDispatchQueued = true
        Loop.shared.later { self.dispatch() }
    }

    private func dispatch() {
        isDispatchQueued = false
        var dispatched = 0
        while isOpen, dispatched < RelayPeer.dispatchBatch {
            guard hasMessages || watches.readAgain() else { return }
            guard other?.hasRoom ?? true else {
                isDispatchQueued = true
                Loop.shared.after(milliseconds: RelayPeer.pause) { [weak self] in self?.dispatch() }
                return
            }
            dbus_connection_dispatch(raw)
            dispatched += 1
        }
        guard isOpen else { return }
        isDispatchQueued = true
        Loop.shared.afterPoll { self.dispatch() }
    }

    /// Disconnects. What there was no room to send is dropped.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        watches.uninstall()
        dbus_connection_close(raw)
        (onMessage, onClose) = (nil, nil)
        // Released in a later turn, because this may run inside one of its callbacks.
        Loop.shared.later {
            dbus_connection_remove_filter(self.raw, RelayPeer.filter, Unmanaged.passUnretained(self).toOpaque())
            dbus_connection_unref(self.raw)
            RelayPeer.all[self.raw] = nil
        }
    }
}
