// A connection to PipeWire as a manager of its clients, on permd's loop.

import CPipeWire
import DBus
import Glibc

enum ObjectKind { case client, node, port, link, metadata, other }

/// The properties of an object. Valid only during the call that passes them.
struct Properties {
    // SAFETY: points to memory of libpipewire that lives as long as the callback in which this is used.
    let raw: UnsafePointer<spa_dict>?

    /// The longest value that is read, in bytes. Names of devices are far shorter, and anybody can make long ones.
    private static let longest = 512

    subscript(_ key: String) -> String? {
        guard let raw, let value = cpipewire_dict_get(raw, key) else { return nil }
        let count = strnlen(value, Properties.longest)
        return String(decoding: UnsafeRawBufferPointer(start: value, count: count), as: UTF8.self)
    }

    func number(_ key: String) -> UInt32? { self[key].flatMap { UInt32($0) } }
}

@LoopActor
final class PipeWireConnection {
    // SAFETY: all of libpipewire is used on the loop's thread only, between `open` and `close`.
    private let loop: OpaqueLoop
    private let context: OpaquePointer
    private let core: OpaquePointer
    private let registry: OpaquePointer
    private var hooks: Hooks
    fileprivate weak var observer: Enforcer?
    private var watch: WatchToken?
    private var bound: [UInt32: Bound] = [:]
    private var isOpen = true
    /// A second connection, which has no rights of a manager.
    private var second: OpaquePointer?
    /// Whether ``Enforcer/settled()`` follows in this turn of the loop.
    private var isSettling = false

    typealias OpaqueLoop = UnsafeMutablePointer<pw_loop>

    enum Failure: Error { case noServer, noMemory }

    /// Connects. What is there is reported in later turns.
    init(_ observer: Enforcer) throws(Failure) {
        guard let loop = pw_loop_new(nil) else { throw .noMemory }
        // Without a configuration: only the modules that are needed, and no thread with realtime priority.
        let settings = pw_properties_new_string("config.name = null")
        guard let context = pw_context_new(loop, settings, 0) else { throw .noMemory }
        for module in ["libpipewire-module-protocol-native", "libpipewire-module-metadata"] {
            _ = pw_context_load_module(context, module, nil, nil)
        }
        cpipewire_loop_enter(loop)
        guard let core = PipeWireConnection.core(context), let registry = cpipewire_core_registry(core)
        else {
            pw_context_destroy(context)
            cpipewire_loop_leave(loop)
            pw_loop_destroy(loop)
            throw .noServer
        }
        (self.loop, self.context, self.core, self.registry) = (loop, context, core, registry)
        self.observer = observer
        hooks = Hooks()
        let me = Unmanaged.passUnretained(self).toOpaque()
        cpipewire_core_listen(core, hooks.core, EventTables.core, me)
        cpipewire_registry_listen(registry, hooks.registry, EventTables.registry, me)
        watch = Loop.shared.watch(unowned: cpipewire_loop_fd(loop), .readable) { [weak self] _ in self?.iterate() }
        sync()
        Loop.shared.later { [weak self] in self?.iterate() }
    }

    /// Newer versions have a socket for managers, whose clients have all rights.
    private static func core(_ context: OpaquePointer) -> OpaquePointer? {
        let name = "application.name = permd-pipewire media.category = Manager"
        for remote in ["remote.name = pipewire-0-manager", ""] {
            if let core = pw_context_connect(context, pw_properties_new_string("\(name) \(remote)"), 0) { return core }
        }
        return nil
    }

    /// Connects once more, to the socket that programs use which are no managers. Returns false if that fails.
    func connectAgain() -> Bool {
        guard isOpen, second == nil else { return false }
        let properties = pw_properties_new_string("application.name = permd-pipewire")
        second = pw_context_connect(context, properties, 0)
        return second != nil
    }

    /// Ends that connection.
    func endSecondConnection() {
        guard let core = second else { return }
        second = nil
        // Not from within a callback of libpipewire.
        Loop.shared.later { [weak self] in
            guard self?.isOpen == true else { return }
            pw_core_disconnect(core)
            self?.flush()
        }
    }

    /// Handles what has arrived and sends what was asked for.
    private func iterate() {
        guard isOpen else { return }
        _ = cpipewire_loop_iterate(loop)
        guard isOpen else { return }
        observer?.settled()
        flush()
    }

    /// libpipewire sends from within its loop, and may receive in the same turn.
    func flush() {
        guard isOpen else { return }
        _ = cpipewire_loop_iterate(loop)
        guard isOpen, !isSettling else { return }
        isSettling = true
        Loop.shared.later { [weak self] in
            guard let self else { return }
            isSettling = false
            if isOpen { observer?.settled() }
        }
    }

    func close() {
        guard isOpen else { return }
        isOpen = false
        watch?.cancel()
        for object in bound.values { object.release() }
        bound = [:]
        pw_core_disconnect(core)
        pw_context_destroy(context)
        cpipewire_loop_leave(loop)
        pw_loop_destroy(loop)
        hooks.release()
    }

    // MARK: Asking PipeWire

    /// ``Enforcer/synced()`` follows everything that was asked for until now.
    func sync() { _ = cpipewire_core_sync(core, CPIPEWIRE_ID_CORE, 0) }

    func destroy(_ id: UInt32) { cpipewire_registry_destroy(registry, id) }

    /// Sets the rights of a client on objects.
    func setRights(of client: UInt32, on objects: [UInt32], _ rights: UInt32) {
        guard let proxy = bound[client]?.proxy else { return }
        let permissions = objects.map { pw_permission(id: $0, permissions: rights) }
        cpipewire_client_permit(proxy, UInt32(permissions.count), permissions)
    }

    func setMetadata(_ id: UInt32, subject: UInt32, key: String, type: String? = nil, value: String?) {
        guard let proxy = bound[id]?.proxy else { return }
        cpipewire_metadata_set(proxy, subject, key, type, value)
    }

    /// Creates an object by a factory of the server. Released objects go on until somebody destroys them.
    func create(_ factory: String, _ type: String, version: UInt32, _ properties: String) -> CreatedObject? {
        guard let dictionary = pw_properties_new_string(properties) else { return nil }
        defer { pw_properties_free(dictionary) }
        guard let proxy = cpipewire_core_create(core, factory, type, version, &dictionary.pointee.dict) else {
            return nil
        }
        return CreatedObject(proxy: proxy)
    }

    // MARK: What PipeWire says

    fileprivate func appeared(_ id: UInt32, _ type: String, _ properties: Properties) {
        observer?.added(id, PipeWireConnection.kinds[type] ?? .other, properties)
    }

    private static let kinds: [String: ObjectKind] = [
        "PipeWire:Interface:Client": .client, "PipeWire:Interface:Node": .node, "PipeWire:Interface:Port": .port,
        "PipeWire:Interface:Link": .link, "PipeWire:Interface:Metadata": .metadata,
    ]

    fileprivate func vanished(_ id: UInt32) {
        bound.removeValue(forKey: id)?.release()
        observer?.removed(id)
    }

    /// Has PipeWire report the changes of an object.
    func follow(_ id: UInt32, _ kind: ObjectKind) {
        guard bound[id] == nil, let object = Bound(id, kind, registry, self) else { return }
        bound[id] = object
    }

    /// Has PipeWire report an object as it is now once more.
    func followAgain(_ id: UInt32, _ kind: ObjectKind) {
        bound.removeValue(forKey: id)?.release()
        follow(id, kind)
    }

    fileprivate func failed(_ id: UInt32, _ code: Int32) {
        // Other errors answer single calls, such as for objects that have just gone.
        guard id == CPIPEWIRE_ID_CORE, code == -EPIPE, isOpen else { return }
        Loop.shared.later { [weak self] in
            guard let self, isOpen else { return }
            let observer = observer
            close()
            observer?.disconnected()
        }
    }

    fileprivate func answered(_ id: UInt32) {
        if id == CPIPEWIRE_ID_CORE { observer?.synced() }
    }
}

/// An object that a factory made. It lives on without this program if it lingers.
@LoopActor
struct CreatedObject {
    // SAFETY: used on the loop only, while the connection is open.
    let proxy: OpaquePointer

    /// Nil until the server has made it.
    var id: UInt32? {
        let id = pw_proxy_get_bound_id(proxy)
        return id == UInt32.max ? nil : id
    }

    /// Ends the object, unless it lingers.
    func release() { pw_proxy_destroy(proxy) }
}

/// The listeners of the connection itself, whose memory has to stay in place.
private struct Hooks {
    // SAFETY: allocated here, released once after the connection was closed.
    let core = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)
    let registry = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)

    init() {
        core.initialize(to: spa_hook())
        registry.initialize(to: spa_hook())
    }

    func release() {
        core.deallocate()
        registry.deallocate()
    }
}

/// An object whose changes are followed.
@LoopActor
private final class Bound {
    let id: UInt32
    // SAFETY: the proxy and the hook live until `release`, which removes the listener first.
    let proxy: UnsafeMutableRawPointer
    private let hook = UnsafeMutablePointer<spa_hook>.allocate(capacity: 1)
    unowned let connection: PipeWireConnection

    init?(_ id: UInt32, _ kind: ObjectKind, _ registry: OpaquePointer, _ connection: PipeWireConnection) {
        self.id = id
        self.connection = connection
        let kinds: (type: String, version: UInt32)? =
            switch kind {
            case .client: ("PipeWire:Interface:Client", CPIPEWIRE_CLIENT)
            case .node: ("PipeWire:Interface:Node", CPIPEWIRE_NODE)
            case .metadata: ("PipeWire:Interface:Metadata", CPIPEWIRE_METADATA)
            case .port, .link, .other: nil
            }
        guard let kinds, let proxy = cpipewire_registry_bind(registry, id, kinds.type, kinds.version) else {
            return nil
        }
        self.proxy = proxy
        hook.initialize(to: spa_hook())
        let me = Unmanaged.passUnretained(self).toOpaque()
        switch kind {
        case .client: cpipewire_client_listen(proxy, hook, EventTables.client, me)
        case .node: cpipewire_node_listen(proxy, hook, EventTables.node, me)
        default: cpipewire_metadata_listen(proxy, hook, EventTables.metadata, me)
        }
    }

    func release() {
        spa_hook_remove(hook)
        pw_proxy_destroy(OpaquePointer(proxy))
        hook.deallocate()
    }
}

/// The tables of functions that libpipewire calls. It calls them within `cpipewire_loop_iterate`, on the loop's thread,
/// while the objects passed as context live.
@LoopActor
private enum EventTables {
    // SAFETY: allocated once, never changed and never released; the contexts are alive as long as their listeners.
    static let core = table(pw_core_events()) {
        $0.version = CPIPEWIRE_CORE_EVENTS
        $0.info = { context, info in
            guard let context, let name = info?.pointee.name.map({ String(cString: $0) }), !name.isEmpty else { return }
            on(context) { (connection: PipeWireConnection) in connection.observer?.serverKnown(name: name) }
        }
        $0.done = { context, id, _ in
            guard let context else { return }
            on(context) { (connection: PipeWireConnection) in connection.answered(id) }
        }
        $0.error = { context, id, _, code, _ in
            guard let context else { return }
            on(context) { (connection: PipeWireConnection) in connection.failed(id, code) }
        }
    }
    static let registry = table(pw_registry_events()) {
        $0.version = CPIPEWIRE_REGISTRY_EVENTS
        $0.global = { context, id, _, type, _, properties in
            guard let context, let type else { return }
            let name = String(cString: type)
            // SAFETY: used within this call only, on this thread.
            nonisolated(unsafe) let properties = Properties(raw: properties)
            on(context) { (connection: PipeWireConnection) in connection.appeared(id, name, properties) }
        }
        $0.global_remove = { context, id in
            guard let context else { return }
            on(context) { (connection: PipeWireConnection) in connection.vanished(id) }
        }
    }
    static let client = table(pw_client_events()) {
        $0.version = CPIPEWIRE_CLIENT_EVENTS
        $0.info = { context, info in
            guard let context, let info, info.pointee.change_mask & CPIPEWIRE_CLIENT_PROPERTIES != 0,
                let raw = info.pointee.props
            else { return }
            // SAFETY: used within this call only, on this thread.
            nonisolated(unsafe) let properties = Properties(raw: raw)
            on(context) { (object: Bound) in object.connection.observer?.clientChanged(object.id, properties) }
        }
    }
    static let node = table(pw_node_events()) {
        $0.version = CPIPEWIRE_NODE_EVENTS
        $0.info = { context, info in
            guard let context, let info else { return }
            let isRunning = info.pointee.state == PW_NODE_STATE_RUNNING
            let hasProperties = info.pointee.change_mask & CPIPEWIRE_NODE_PROPERTIES != 0
            // SAFETY: used within this call only, on this thread.
            nonisolated(unsafe) let properties = hasProperties ? Properties(raw: info.pointee.props) : nil
            on(context) { (object: Bound) in
                object.connection.observer?.nodeChanged(object.id, isRunning: isRunning, properties)
            }
        }
    }
    static let metadata = table(pw_metadata_events()) {
        $0.version = CPIPEWIRE_METADATA_EVENTS
        $0.property = { context, subject, key, _, value in
            guard let context else { return 0 }
            let (key, value) = (key.map { String(cString: $0) }, value.map { String(cString: $0) })
            on(context) { (object: Bound) in
                object.connection.observer?.metadataChanged(object.id, subject: subject, key: key, value: value)
            }
            return 0
        }
    }

    private static func table<T>(_ empty: T, _ fill: (inout T) -> Void) -> UnsafeMutablePointer<T> {
        let memory = UnsafeMutablePointer<T>.allocate(capacity: 1)
        memory.initialize(to: empty)
        fill(&memory.pointee)
        return memory
    }

    private nonisolated static func on<Object: AnyObject>(
        _ context: UnsafeMutableRawPointer, _ body: @LoopActor (Object) -> Void
    ) {
        // SAFETY: the context is the object that listens, which lives as long as its listener; used on this thread only.
        nonisolated(unsafe) let object = Unmanaged<Object>.fromOpaque(context).takeUnretainedValue()
        LoopActor.assumeIsolated { body(object) }
    }
}
