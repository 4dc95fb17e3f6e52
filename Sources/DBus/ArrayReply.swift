// A reply that is built over several turns of the loop, so that a long one does not delay other work.

import CDBus

/// The reply to a call, consisting of one array. Appended values are encoded at once. Nothing is sent before `send()`.
@LoopActor
public final class ArrayReply {
    /// The size of the reply so far in bytes.
    public var size: Int { bodySize.bytes }

    private let call: MethodCall
    private let element: String
    private var bodySize = BodySize(path: nil)
    /// Where the content of the array starts in the body.
    private var start = 0
    // SAFETY: libdbus writes through both iterators, so they must not move until the array is closed or the message is
    // released; each happens at most once.
    private var raw: OpaquePointer?
    private let body = UnsafeMutablePointer<DBusMessageIter>.allocate(capacity: 1)
    private let array = UnsafeMutablePointer<DBusMessageIter>.allocate(capacity: 1)
    private var isOpen = false
    private var problem: EncodingError?

    /// - Parameter element: The signature of the elements.
    public init(to call: MethodCall, of element: String) {
        self.call = call
        self.element = element
        body.initialize(to: DBusMessageIter())
        array.initialize(to: DBusMessageIter())
        do throws(EncodingError) {
            let message = try Message.answer(to: call.message, .methodReturn).encoded()
            raw = message
            dbus_message_iter_init_append(message, body)
            guard dbus_message_iter_open_container(body, CDBUS_TYPE_ARRAY, element, array) != 0 else {
                throw EncodingError("out of memory building a message")
            }
            isOpen = true
            start = try bodySize.open(CDBUS_TYPE_ARRAY, element)
        } catch {
            problem = error
        }
    }

    isolated deinit {
        if let raw {
            if isOpen { dbus_message_iter_abandon_container(body, array) }
            dbus_message_unref(raw)
        }
        body.deallocate()
        array.deallocate()
    }

    /// Appends an element. One that has another type or cannot be encoded is a bug of the caller: the call is then
    /// answered with an error.
    public func append(_ value: Value) {
        guard problem == nil else { return }
        do throws(EncodingError) {
            guard value.signature == element else {
                throw EncodingError("an array of \(element) contains an element of type \(value.signature)")
            }
            try value.append(to: &array.pointee, &bodySize, depth: 1)
            try bodySize.checkArray(from: start)
        } catch {
            problem = error
        }
    }

    /// Sends the reply, unless the call has already been answered.
    public func send() {
        guard let raw, problem == nil else {
            return call.failStandard(BusError.Name.failed, problem?.description ?? "the reply has already been sent")
        }
        isOpen = false
        guard dbus_message_iter_close_container(body, array) != 0 else {
            return call.failStandard(BusError.Name.failed, "out of memory building a message")
        }
        call.send(encoded: raw)
        dbus_message_unref(raw)
        self.raw = nil
    }
}
