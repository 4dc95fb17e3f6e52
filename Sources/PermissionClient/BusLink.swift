// A bus connection that is reopened after a loss, and the owner of org.permd on it.

package import DBus
import PermissionModel
import System

@LoopActor
package final class BusLink {
    private struct Kind: Hashable {
        let bus: PermissionBus
        let identifiesDaemon: Bool
    }

    private static var links: [Kind: BusLink] = [:]

    /// Whether the owner of org.permd is identified before its signals count and before it is called. A sandboxed app
    /// cannot identify it.
    private let identifiesDaemon: Bool
    private let link: ReconnectingBus
    /// Whether the connection was lost and not opened again yet. The listeners are notified of the loss.
    private var isLost = false
    private var isClosed = false
    /// The unique name of the owner of org.permd, according to the bus.
    private var owner: String?
    /// The unique name of the owner that was identified.
    private var identified: String?
    /// The unique name from which calls and signals are accepted as the daemon's.
    package var believed: String? { identifiesDaemon && identified != owner ? nil : owner }
    private var listeners: [UInt64: @LoopActor (Bool) -> Void] = [:]
    private var lastListener: UInt64 = 0
    /// Called with each new connection, before anything is sent on it.
    package var onConnect: (@LoopActor (Connection) -> Void)?

    /// The link that all centers of this process share; or, if it identifies the daemon, all settings.
    package static func shared(_ bus: PermissionBus, identifiesDaemon: Bool = false) -> BusLink {
        let kind = Kind(bus: bus, identifiesDaemon: identifiesDaemon)
        if let link = links[kind] { return link }
        let link = BusLink(bus, identifiesDaemon: identifiesDaemon)
        links[kind] = link
        return link
    }

    package init(_ bus: PermissionBus, identifiesDaemon: Bool = false) {
        self.identifiesDaemon = identifiesDaemon
        link = ReconnectingBus(bus.address, backoff: Backoff(longest: 10_000))
        // Without listeners, the next call connects.
        link.reconnects = { [weak self] in self.map { $0.isLost && !$0.listeners.isEmpty } ?? false }
        link.follow(opens: false) { [weak self] in self?.handle($0) }
    }

    /// The open connection; nil while there is none.
    package var opened: Connection? { link.connection.flatMap { $0.isConnected ? $0 : nil } }

    /// Passes the connection: at once if it is open, otherwise when it has been opened, which all wait for together. If
    /// it was lost before, the listeners are notified.
    func open(then body: @escaping @LoopActor (Result<Connection, ClientError>) -> Void) {
        if isClosed { return body(.failure(BusLink.closed)) }
        // The completion keeps this object until then.
        link.open { [self] result in
            body(isClosed ? .failure(BusLink.closed) : result.mapError(ClientError.init))
        }
    }

    /// The same for a Task.
    package func open() async throws(ClientError) -> Connection {
        let result: Result<Connection, ClientError> = await withCheckedContinuation { done in
            open { done.resume(returning: $0) }
        }
        return try result.get()
    }

    private func handle(_ event: ReconnectingBus.Event) {
        switch event {
        case .opened(let connection):
            watchDaemon(connection)
            onConnect?(connection)
            guard isLost else { return }
            isLost = false
            // In a later turn of the loop, after the notification of the loss.
            Loop.shared.later { [weak self] in self?.notify(true) }
        case .lost:
            owner = nil
            identified = nil
            isLost = true
            // In a later turn of the loop, because this may be called within `open`.
            Loop.shared.later { [weak self] in self?.notify(false) }
        case .failed: break
        }
    }

    private static let closed = ClientError(
        kind: .noBus, message: "this connection to the bus was closed", isRetryable: false)

    /// Repeats what has failed, with growing pauses, until it succeeds or the daemon refuses it for good.
    ///
    /// - Parameter isOver: Whether it is of no use any more.
    func retry(
        unless isOver: @LoopActor () -> Bool, _ work: @LoopActor () async throws(ClientError) -> Void
    ) async {
        var pauses = Backoff(first: 100, longest: 10_000)
        while true {
            let pause = pauses.next()
            await withCheckedContinuation { done in
                Loop.shared.after(milliseconds: pause) { done.resume() }
            }
            if isClosed || isOver() { return }
            do throws(ClientError) { return try await work() } catch {
                if case .daemon = error.kind, !error.isRetryable { return }
            }
        }
    }

    /// Closes the connection permanently. Later calls fail, and so do those that wait for it.
    func close() {
        isClosed = true
        listeners = [:]
        link.close()
    }

    private func watchDaemon(_ connection: Connection) {
        connection.onOwnerChange(of: BusNames.service) { [weak self] in self?.ownerChanged($0) }
        connection.call(.busCall("GetNameOwner", [.string(BusNames.service)])) { [weak self] reply in
            if let name = (try? reply.get())?.body.first?.stringValue { self?.owner = name }
        }
    }

    private func ownerChanged(_ now: String?) {
        let before = owner
        owner = now
        if identified != now { identified = nil }
        // If another daemon replaced this one in one step, listeners see a loss and a return.
        if before != nil { notify(false) }
        if now != nil { notify(true) }
    }

    private func notify(_ isThere: Bool) {
        for (_, listener) in listeners.sorted(by: { $0.key < $1.key }) { listener(isThere) }
    }

    /// Calls `body` when the daemon appears (true) and disappears (false), until the subscription is cancelled.
    package func onDaemonChange(_ body: @escaping @LoopActor (Bool) -> Void) -> Subscription {
        lastListener += 1
        let id = lastListener
        listeners[id] = body
        return Subscription { [weak self] in self?.listeners[id] = nil }
    }

    // MARK: Calls

    /// Calls a method of the daemon's root object. The bus starts the daemon if necessary.
    package func call(
        _ interface: String, _ member: String, _ body: [Value] = []
    ) async throws(ClientError) -> [Value] {
        let connection = try await open()
        func message(to name: String) -> Message {
            .call(destination: name, path: BusNames.root, interface: interface, member: member, body)
        }
        guard identifiesDaemon else { return try await connection.ask(message(to: BusNames.service)) }
        if let known = identified {
            do throws(BusError) { return try await connection.call(message(to: known)).body } catch {
                let hasLeft = [BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner].contains(error.name)
                guard hasLeft else { throw ClientError(error) }
                identified = nil
            }
        }
        let owner = try await TrustedOwner.find(BusNames.service, on: connection)
        identified = owner
        return try await connection.ask(message(to: owner))
    }

    /// Whether the bus can start a program for that name.
    package func canStart(_ name: String) async throws(ClientError) -> Bool {
        try await open().ask(.busCall("ListActivatableNames")).first?.strings?.contains(name) == true
    }

    /// Subscribes to a signal that the daemon sends as unicast, which needs no match rule.
    func onSignal(
        _ interface: String, _ member: String, path: String = BusNames.root, on connection: Connection,
        _ handler: @escaping @LoopActor (Message) -> Void
    ) -> Subscription {
        connection.onSignal(path: path, interface: interface, member: member, addMatch: false) { [weak self] message in
            guard let self, let sender = message.sender, sender == believed else { return }
            handler(message)
        }
    }
}

extension Connection {
    /// Calls a method and returns the arguments of the reply.
    fileprivate func ask(_ message: Message) async throws(ClientError) -> [Value] {
        do throws(BusError) { return try await call(message).body } catch { throw ClientError(error) }
    }
}
