// An answer that is made over several turns of the loop, so that nobody waits for the whole of a long one.

import CDBus

/// The answer to a call: one array. What is appended is encoded at once. Answers nothing unless it is sent.
@LoopActor
public final class ArrayReply {
    /// About how many bytes were appended: those of texts, and some for each value.
    public private(set) var size = 0

    private let call: MethodCall
    private let element: String
    // SAFETY: libdbus writes through both iterators, which therefore stay where they are, until the array is closed or the
    // message released; both happen at most once.
    private var raw: OpaquePointer?
    private let body = UnsafeMutablePointer<DBusMessageIter>.allocate(capacity: 1)
    private let array = UnsafeMutablePointer<DBusMessageIter>.allocate(capacity: 1)
    private var isOpen = false
    private var problem: EncodingError?

    /// - Parameter element: the signature of the elements.
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
                throw EncodingError("no memory for a message")
            }
            isOpen = true
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

    /// An element of another type, or one that cannot be encoded, is a bug of the caller: the call is answered with an error.
    public func append(_ value: Value) {
        guard problem == nil else { return }
        size += value.weight
        do throws(EncodingError) {
            guard value.signature == element else {
                throw EncodingError("an array of \(element) has an element of \(value.signature)")
            }
            try value.append(to: &array.pointee, depth: 1)
        } catch {
            problem = error
        }
    }

    /// Answers the call, unless it is answered already.
    public func send() {
        guard let raw, problem == nil else {
            return call.failStandard(BusError.Name.failed, problem?.description ?? "the answer was sent before")
        }
        isOpen = false
        guard dbus_message_iter_close_container(body, array) != 0 else {
            return call.failStandard(BusError.Name.failed, "no memory for a message")
        }
        call.send(encoded: raw)
        dbus_message_unref(raw)
        self.raw = nil
    }
}

extension Value {
    /// About how many bytes it takes in a message.
    fileprivate var weight: Int {
        switch self {
        case .string(let text), .objectPath(let text), .signature(let text): 8 + text.utf8.count
        case .array(_, let values), .structure(let values): values.reduce(8) { $0 + $1.weight }
        case .dictionary(_, _, let entries): entries.reduce(8) { $0 + $1.key.weight + $1.value.weight }
        case .variant(let value): 4 + value.weight
        default: 8
        }
    }
}
