// What happens at the daemon, as it happens.

import DBus
public import PermissionModel

/// A change that settings programs are told of.
public enum SettingsEvent: Sendable, Hashable {
    /// nil: forgotten, or ended.
    case decisionChanged(app: AppID, Permission, Verdict?)
    /// Requests waiting, the one on screen included.
    case queueChanged(length: Int)
    /// A request is `queued`, `showing`, `answered`, `dismissed`, `failed` or `withdrawn`.
    case requestChanged(app: AppID, [Question], state: String)
    /// A device came, or one that was there changed.
    case deviceAdded(DeviceRow)
    case deviceRemoved(Permission, id: String)
    /// Events before this one are missing: they came faster than they were read.
    case missed
    case daemonLost
    /// What happened meanwhile was missed.
    case daemonBack
}

extension PermissionSettings {
    /// Everything that happens from now on; ends with its Task. Who does not read gets the newest
    /// 1023 and ``SettingsEvent/missed`` among them.
    /// - Throws: ``ClientError`` when nobody is there at first; a daemon that goes later is waited for.
    public func events() async throws(ClientError) -> AsyncStream<SettingsEvent> {
        let (stream, continuation) = AsyncStream<SettingsEvent>.makeStream(
            bufferingPolicy: .bufferingNewest(SettingsFollower.maximumWaiting))
        let follower = await SettingsFollower(bus, continuation)
        try await follower.subscribe()
        continuation.onTermination = { _ in Loop.shared.post { follower.stop() } }
        return stream
    }
}

@LoopActor
private final class SettingsFollower {
    /// Events that wait for their reader. As many come in some seconds of a busy app; a reader that is further behind has
    /// to look at everything anew.
    nonisolated static let maximumWaiting = 1024

    private let link: BusLink
    private let stream: AsyncStream<SettingsEvent>.Continuation
    private var signals: [Subscription] = []
    private var listener: Subscription?
    private var isOver = false
    /// A mark for missing events is among those that wait.
    private var isMarked = false

    init(_ bus: PermissionBus, _ stream: AsyncStream<SettingsEvent>.Continuation) {
        // A connection of its own: a subscription is a connection's, and one follower's end is not another's.
        link = BusLink(bus, identifiesDaemon: true)
        self.stream = stream
    }

    func subscribe() async throws(ClientError) {
        if listener == nil { listener = link.onDaemonChange { [weak self] in self?.daemonChanged($0) } }
        for signal in signals { signal.cancel() }
        signals = []
        let handlers: [(String, String, @LoopActor ([Value]) -> SettingsEvent?)] = [
            (BusNames.policy, "DecisionChanged", SettingsFollower.decision),
            (BusNames.policy, "RequestChanged", SettingsFollower.request),
            (BusNames.policy, "QueueChanged", { $0.first?.uint32Value.map { .queueChanged(length: Int($0)) } }),
            (
                BusNames.devices, "DeviceAdded",
                { $0.first?.properties.flatMap(DeviceRow.init).map { .deviceAdded($0) } }
            ),
            (BusNames.devices, "DeviceRemoved", SettingsFollower.removed),
        ]
        for (interface, member, read) in handlers {
            signals.append(
                try link.onSignal(interface, member) { [weak self] message in
                    if let event = read(message.body) { self?.tell(event) }
                })
        }
        for interface in [BusNames.policy, BusNames.devices] { _ = try await link.call(interface, "Subscribe") }
    }

    /// Where older events made room for this one, the reader finds a mark; one that had to make room itself is set anew.
    private func tell(_ event: SettingsEvent) {
        guard case .dropped(let lost) = stream.yield(event) else {
            isMarked = false
            return
        }
        if isMarked, lost != .missed { return }
        isMarked = true
        stream.yield(.missed)
    }

    private func daemonChanged(_ isThere: Bool) {
        guard !isOver else { return }
        guard isThere else {
            tell(.daemonLost)
            return
        }
        Task {
            // One that goes again at once is heard of as the next loss.
            if (try? await subscribe()) != nil { tell(.daemonBack) }
        }
    }

    func stop() {
        isOver = true
        listener?.cancel()
        signals = []
        link.close()
    }

    private static func decision(_ body: [Value]) -> SettingsEvent? {
        let words = body.compactMap(\.stringValue)
        guard words.count == 3, let app = AppID(words[0]), let permission = Permission(rawValue: words[1]) else {
            return nil
        }
        return .decisionChanged(app: app, permission, Verdict(rawValue: words[2]))
    }

    private static func request(_ body: [Value]) -> SettingsEvent? {
        guard body.count == 4, let app = body[1].stringValue.flatMap(AppID.init), let names = body[2].strings,
            let state = body[3].stringValue
        else { return nil }
        return .requestChanged(app: app, names.compactMap(Question.init(name:)), state: state)
    }

    private static func removed(_ body: [Value]) -> SettingsEvent? {
        let words = body.compactMap(\.stringValue)
        guard words.count == 2, let permission = Permission(rawValue: words[0]) else { return nil }
        return .deviceRemoved(permission, id: words[1])
    }
}
