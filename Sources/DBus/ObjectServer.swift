// Serves objects: one table row per method, authorization before every handler, and the standard interfaces derived
// from the tables.

/// Who may call a method or read properties. The values are defined by the program that serves them.
public struct CallerClass: RawRepresentable, Sendable, Hashable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

/// The arguments of a method or signal in order: each has a name and the signature of its type.
public typealias Arguments = KeyValuePairs<String, String>

public struct Method: Sendable {
    public let name: String
    public let inputs: Arguments
    public let outputs: Arguments
    /// If nil, no caller is allowed where calls are authorized.
    public let callers: CallerClass?
    /// Whether calls may carry file descriptors, as arguments or within variants.
    public let takesDescriptors: Bool
    /// The keys of arguments `a{sv}` that are read; others are passed over. The arguments are then bounded by what could
    /// be valid, so that decoding them costs little. If nil, all are read.
    public let options: Set<String>?
    public let handler: @LoopActor (MethodCall) -> Void
    let inputSignature: String

    public init(
        name: String, inputs: Arguments, outputs: Arguments, callers: CallerClass? = nil,
        takesDescriptors: Bool = false, options: Set<String>? = nil,
        handler: @escaping @LoopActor (MethodCall) -> Void
    ) {
        self.name = name
        self.inputs = inputs
        self.outputs = outputs
        self.callers = callers
        self.options = options
        self.handler = handler
        inputSignature = inputs.map(\.value).joined()
        self.takesDescriptors = takesDescriptors || inputSignature.contains("h")
    }
}

public struct Signal: Sendable {
    public let name: String
    public let arguments: Arguments
    public init(_ name: String, _ arguments: Arguments) {
        self.name = name
        self.arguments = arguments
    }
}

/// A read-only property.
public struct Property: Sendable {
    /// Whether PropertiesChanged announces changes (D-Bus specification, "EmitsChangedSignal").
    public enum Changes: String, Sendable {
        case announced = "true"
        case silent = "false"
        /// There are none.
        case never = "const"
    }

    public let name: String
    public let signature: String
    public let changes: Changes
    public let get: @LoopActor (MethodCall) -> Value

    public init(
        _ name: String, _ signature: String, _ changes: Changes = .announced,
        get: @escaping @LoopActor (MethodCall) -> Value
    ) {
        self.name = name
        self.signature = signature
        self.changes = changes
        self.get = get
    }
}

public struct Interface: Sendable {
    public let name: String
    public let methods: [Method]
    public let signals: [Signal]
    public let properties: [Property]
    /// Who may read the properties. If nil, no caller is allowed where calls are authorized.
    public let readers: CallerClass?

    public init(
        name: String, methods: [Method], signals: [Signal] = [], properties: [Property] = [],
        readers: CallerClass? = nil
    ) {
        self.name = name
        self.methods = methods
        self.signals = signals
        self.properties = properties
        self.readers = readers
    }
}

/// Objects that are looked up at each call, and may exist for one caller but not for another.
public struct ObjectTree: Sendable {
    let interfaces: @LoopActor (_ path: String, _ sender: String) -> [Interface]?
    let children: @LoopActor (_ path: String, _ sender: String) -> [String]

    public init(
        interfaces: @escaping @LoopActor (_ path: String, _ sender: String) -> [Interface]?,
        children: @escaping @LoopActor (_ path: String, _ sender: String) -> [String]
    ) {
        self.interfaces = interfaces
        self.children = children
    }
}

/// A call that is answered once, now or later.
@LoopActor
public final class MethodCall {
    public private(set) var message: Message
    public let sender: String
    public var path: String { message.path ?? "/" }
    /// Of the types in the method's table. They are decoded after the caller is authorized.
    public var arguments: [Value] { message.body }
    private let connection: Connection
    private var isAnswered = false

    init(_ message: Message, on connection: Connection) {
        self.message = message
        sender = message.sender ?? ""
        self.connection = connection
    }

    func decode(options: Set<String>?) -> DecodingError? { message.decode(options: options) }

    public func reply(_ values: Value...) { reply(values) }

    public func reply(_ values: [Value]) {
        guard !isAnswered else { return }
        isAnswered = true
        connection.reply(to: message, values)
    }

    /// Whether a reply is still expected, as far as this side knows.
    public var isWaiting: Bool { !isAnswered && connection.isConnected && message.expectsReply }

    public func fail(name: String, body: [Value]) {
        guard !isAnswered else { return }
        isAnswered = true
        connection.reply(to: message, error: name, body)
    }

    func failStandard(_ name: String, _ text: String) { fail(name: name, body: [.string(text)]) }
}

@LoopActor
public final class ObjectServer {
    /// Runs before every handler. It calls `proceed` once, now or later, or answers the call itself. If nil, everyone may
    /// call.
    public var authorize: (@LoopActor (MethodCall, CallerClass, _ proceed: @escaping @LoopActor () -> Void) -> Void)?

    /// Returns false for a sender whose descriptors are closed at once. If nil, everyone may pass descriptors.
    public var mayPassDescriptors: (@LoopActor (_ sender: String) -> Bool)?

    private let connection: Connection
    private let refuseArguments: @LoopActor (MethodCall, _ explanation: String) -> Void
    private var objects: [String: [Interface]] = [:]
    private var trees: [(prefix: String, tree: ObjectTree)] = []

    public init(
        connection: Connection, refuseArguments: @escaping @LoopActor (MethodCall, _ explanation: String) -> Void
    ) {
        self.connection = connection
        self.refuseArguments = refuseArguments
        connection.objectHandler = { [weak self] message in self?.handle(message) }
        connection.takesDescriptors = { [weak self] in self?.takesDescriptors($0) ?? false }
        connection.unwantedDescriptorsHandler = { [unowned connection] message in
            refuseArguments(MethodCall(message, on: connection), "this method takes no such file descriptors")
        }
    }

    /// Adds an interface. Methods of subtrees never take descriptors.
    public func add(_ interface: Interface, at path: String) { objects[path, default: []].append(interface) }

    private func takesDescriptors(_ header: Message) -> Bool {
        guard let path = header.path, let interface = objects[path]?.first(where: { $0.name == header.interface }),
            let method = interface.methods.first(where: { $0.name == header.member }), method.takesDescriptors,
            header.signature == method.inputSignature
        else { return false }
        return mayPassDescriptors?(header.sender ?? "") ?? true
    }

    /// Adds the objects below `prefix`; `prefix` itself is not an object.
    public func addSubtree(prefix: String, _ tree: ObjectTree) {
        trees.append((prefix, tree))
    }

    // MARK: Looking up objects

    func interfaces(at path: String, for sender: String) -> [Interface]? {
        if let fixed = objects[path] { return fixed }
        for (prefix, tree) in trees where path.hasPrefix(prefix + "/") {
            if let found = tree.interfaces(path, sender) { return found }
        }
        return nil
    }

    func children(of path: String, for sender: String) -> [String] {
        var names: Set<String> = []
        let base = path == "/" ? "/" : path + "/"
        for object in Array(objects.keys) + trees.flatMap({ visiblePaths($0, sender) }) where object.hasPrefix(base) {
            if let name = object.dropFirst(base.count).split(separator: "/").first { names.insert(String(name)) }
        }
        for (prefix, tree) in trees where path == prefix || path.hasPrefix(prefix + "/") {
            names.formUnion(tree.children(path, sender))
        }
        return names.sorted()
    }

    /// The prefix of the tree if it contains objects visible to this caller.
    private func visiblePaths(_ entry: (prefix: String, tree: ObjectTree), _ sender: String) -> [String] {
        entry.tree.children(entry.prefix, sender).isEmpty ? [] : [entry.prefix]
    }

    private func handle(_ message: Message) {
        let call = MethodCall(message, on: connection)
        guard let member = message.member else { return }
        let own = interfaces(at: call.path, for: call.sender)
        if message.interface == StandardInterfaces.introspectable {
            return introspect(call, member, own)
        }
        guard let own else {
            return call.failStandard(BusError.Name.unknownObject, "there is no object \(call.path)")
        }
        if message.interface == StandardInterfaces.properties { return answerProperties(call, member, own) }
        dispatch(call, member, own)
    }

    private func dispatch(_ call: MethodCall, _ member: String, _ own: [Interface]) {
        let wanted = call.message.interface
        for index in own.indices where wanted == nil || wanted == own[index].name {
            guard let row = own[index].methods.firstIndex(where: { $0.name == member }) else { continue }
            let method = own[index].methods[row]
            return pass(call, method.callers) { [self] in run(method, call) }
        }
        if let name = call.message.interface, !own.contains(where: { $0.name == name }) {
            return call.failStandard(BusError.Name.unknownInterface, "\(call.path) has no interface \(name)")
        }
        call.failStandard(BusError.Name.unknownMethod, "there is no method \(member)")
    }

    private func run(_ method: Method, _ call: MethodCall) {
        guard call.message.signature == method.inputSignature else {
            return refuseArguments(
                call, "\(method.name) takes (\(method.inputSignature)), not (\(call.message.signature))")
        }
        if decode(call, options: method.options) { method.handler(call) }
    }

    /// Decodes the arguments. Returns false if the call was refused for having too many.
    func decode(_ call: MethodCall, options: Set<String>?) -> Bool {
        switch call.decode(options: options) {
        case nil: return true
        case .malformed: refuseArguments(call, "a file descriptor did not arrive")
        case .tooLarge: refuseArguments(call, "the arguments have more content than any valid ones")
        }
        return false
    }

    func pass(_ call: MethodCall, _ callers: CallerClass?, _ body: @escaping @LoopActor () -> Void) {
        guard let authorize else { return body() }
        guard let callers else { return call.failStandard(BusError.Name.accessDenied, "no caller may use this") }
        authorize(call, callers, body)
    }
}
