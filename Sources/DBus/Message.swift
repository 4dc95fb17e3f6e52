// A D-Bus message as a Swift value, independent of libdbus.

public struct Message: Sendable {
    /// The raw values are libdbus's numbers (D-Bus specification, "Message Format").
    public enum Kind: Int32, Sendable {
        case methodCall = 1
        case methodReturn, error, signal
    }

    public var kind: Kind
    public var serial: UInt32 = 0
    public var replySerial: UInt32 = 0
    public var sender: String?
    public var destination: String?
    public var path: String?
    public var interface: String?
    public var member: String?
    public var errorName: String?
    public var signature = ""
    public var body: [Value] = []
    public var expectsReply = false
    var mayAutoStart = true
    /// The approximate size in bytes of a received message's body: its strings, plus a fixed cost per value.
    public internal(set) var contentSize = 0
    /// The body of a call that is not decoded yet; `body` is empty until then.
    var encodedBody: EncodedBody?

    init(kind: Kind) { self.kind = kind }

    public static func call(
        destination: String, path: String, interface: String, member: String, _ body: [Value] = [],
        noReply: Bool = false, noAutoStart: Bool = false
    ) -> Message {
        var message = Message(kind: .methodCall)
        message.destination = destination
        message.path = path
        message.interface = interface
        message.member = member
        message.body = body
        message.expectsReply = !noReply
        message.mayAutoStart = !noAutoStart
        return message
    }

    /// A reply to a call, without a body.
    static func answer(to call: Message, _ kind: Kind) -> Message {
        var message = Message(kind: kind)
        message.destination = call.sender
        message.replySerial = call.serial
        return message
    }

    /// A call to the bus itself (D-Bus specification, "Message Bus Messages").
    public static func busCall(_ member: String, _ body: [Value] = [], noReply: Bool = false) -> Message {
        call(
            destination: busName, path: "/org/freedesktop/DBus", interface: busName, member: member, body,
            noReply: noReply)
    }

    public static let busName = "org.freedesktop.DBus"

    /// A signal. With a destination it is unicast and needs no match rule.
    public static func signal(
        path: String, interface: String, member: String, _ body: [Value] = [], destination: String? = nil
    ) -> Message {
        var message = Message(kind: .signal)
        message.path = path
        message.interface = interface
        message.member = member
        message.body = body
        message.destination = destination
        return message
    }
}

/// An error returned by a peer or by the bus itself (`org.freedesktop.DBus.Error.*`).
public struct BusError: Error, Sendable, CustomStringConvertible {
    public let name: String
    public let message: String
    /// All arguments of the error, including the message.
    public let body: [Value]

    public init(name: String, message: String, body: [Value] = []) {
        self.name = name
        self.message = message
        self.body = body
    }

    public var description: String { "\(name): \(message)" }

    /// Whether the same call may succeed a moment later: the bus or the other side lacked something, or was too slow.
    public var isTransient: Bool {
        [Name.noReply, Name.limitsExceeded, Name.noMemory, Name.timeout, Name.timedOut].contains(name)
    }

    /// The error names of the D-Bus specification that this module handles or sends.
    public enum Name {
        private static let prefix = "org.freedesktop.DBus.Error."
        /// The beginning of every error about a service that could not be started.
        public static let spawn = prefix + "Spawn"
        public static let fileNotFound = prefix + "FileNotFound"
        public static let badAddress = prefix + "BadAddress"
        public static let authFailed = prefix + "AuthFailed"
        public static let noReply = prefix + "NoReply"
        public static let disconnected = prefix + "Disconnected"
        public static let noServer = prefix + "NoServer"
        public static let serviceUnknown = prefix + "ServiceUnknown"
        public static let nameHasNoOwner = prefix + "NameHasNoOwner"
        public static let invalidArgs = prefix + "InvalidArgs"
        public static let unknownMethod = prefix + "UnknownMethod"
        public static let unknownObject = prefix + "UnknownObject"
        public static let unknownInterface = prefix + "UnknownInterface"
        public static let unknownProperty = prefix + "UnknownProperty"
        public static let propertyReadOnly = prefix + "PropertyReadOnly"
        public static let noMemory = prefix + "NoMemory"
        public static let timeout = prefix + "Timeout"
        public static let timedOut = prefix + "TimedOut"
        public static let limitsExceeded = prefix + "LimitsExceeded"
        public static let accessDenied = prefix + "AccessDenied"
        public static let failed = prefix + "Failed"
    }
}
