// A message that a relay passes on as it was received: its serial, its body and its descriptors stay what they are.

import CDBus
import CLinux

/// libdbus counts references to a message, and changes none that it has received.
@LoopActor
package final class RelayMessage {
    /// Bytes of the body of a message that is read: replies with all objects of a service have some hundred thousand.
    private static let maximumRead = 4 << 20

    let raw: OpaquePointer
    package private(set) lazy var header = Message.header(of: raw)

    // SAFETY: the reference is this object's, and is released with it.
    init(_ raw: OpaquePointer) { self.raw = dbus_message_ref(raw) }

    private init(owning raw: OpaquePointer) { self.raw = raw }

    isolated deinit { dbus_message_unref(raw) }

    /// A message of the relay's own; nil if it is not valid, which is a bug.
    ///
    /// - Parameter sender: For a connection to a service, to which no bus adds the sender.
    package convenience init?(_ message: Message, sender: String? = nil) {
        guard let raw = try? message.encoded() else { return nil }
        if let sender { dbus_message_set_sender(raw, sender) }
        self.init(owning: raw)
    }

    /// An error, as the reply to a call.
    package static func error(_ name: String, _ text: String, to caller: String, replySerial: UInt32) -> RelayMessage? {
        var error = Message(kind: .error)
        (error.errorName, error.destination, error.replySerial) = (name, caller, replySerial)
        error.body = [.string(text)]
        return RelayMessage(error)
    }

    /// The first argument, if it is a string or an object path.
    package var firstText: String? {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(raw, &iterator) != 0,
            [CDBUS_TYPE_STRING, CDBUS_TYPE_OBJECT_PATH].contains(dbus_message_iter_get_arg_type(&iterator))
        else { return nil }
        var text: UnsafePointer<CChar>?
        dbus_message_iter_get_basic(&iterator, &text)
        return text.map { String(cString: $0) }
    }

    package var hasDescriptors: Bool { dbus_message_contains_unix_fds(raw) != 0 }

    /// The arguments; nil if they are too large, or have descriptors.
    package var body: [Value]? {
        var message = header
        let budget = DecodingBudget(RelayMessage.maximumRead, takesDescriptors: false)
        return message.readBody(of: raw, within: budget) == nil ? message.body : nil
    }

    /// Whether the arguments take at most this many bytes, roughly. Nothing is decoded.
    package func fits(_ bytes: Int) -> Bool {
        var iterator = DBusMessageIter()
        guard dbus_message_iter_init(raw, &iterator) != 0 else { return true }
        var budget = DecodingBudget(bytes, takesDescriptors: true)
        return (try? Message.measure(&iterator, &budget)) != nil
    }

    /// The same message to one receiver, with a serial of its own: a broadcast signal becomes unicast.
    package func copy(to destination: String) -> RelayMessage? {
        guard let copy = dbus_message_copy(raw) else { return nil }
        dbus_message_set_destination(copy, destination)
        return RelayMessage(owning: copy)
    }

    /// The reply with other arguments. Its serial stays.
    package func copy(body: [Value]) -> RelayMessage? {
        var message = header
        message.body = body
        guard let raw = try? message.encoded() else { return nil }
        dbus_message_set_serial(raw, message.serial)
        return RelayMessage(owning: raw)
    }
}
