// Signals of the daemon for settings programs, as a stream.

import DBus
public import PermissionModel

/// A change that the daemon reports to settings programs.
public enum SettingsEvent: Sendable, Hashable {
    /// A decision was set; nil if it was removed or has ended (org.permd.Policy1.DecisionChanged).
    case decisionChanged(app: AppID, Permission, Verdict?)
    /// A permission was switched off or on for every app (org.permd.Policy1.SwitchChanged).
    case switchChanged(Permission, isOn: Bool)
    /// The number of waiting requests, including the one on screen (org.permd.Policy1.QueueChanged).
    case queueChanged(length: Int)
    /// A request is now `queued`, `showing`, `answered`, `dismissed`, `failed` or `withdrawn`
    /// (org.permd.Policy1.RequestChanged).
    case requestChanged(app: AppID, [PromptItem], state: String)
    /// A device was added or has changed (org.permd.Devices1.DeviceAdded).
    case deviceAdded(DeviceRow)
    /// A device was removed (org.permd.Devices1.DeviceRemoved).
    case deviceRemoved(Permission, id: String)
    /// An app began to use a device (org.permd.Usage1.UseStarted).
    case useStarted(UseRow)
    /// A use has ended; the number is that of its ``UseRow`` (org.permd.Usage1.UseEnded).
    case useEnded(UInt32, seconds: UInt64)
    /// Older events were dropped, because they were not read in time. Read all lists again.
    case missed
    /// The daemon has left the bus.
    case daemonLost
    /// The daemon is back. Events in between are missing; read all lists again.
    case daemonBack
}

extension PermissionSettings {
    /// Returns all changes from now on, until the Task that reads them is cancelled or stops reading.
    ///
    /// The stream keeps the newest 1023 unread events, and ``SettingsEvent/missed`` if it dropped older ones. It
    /// continues when the daemon restarts. Each stream has a bus connection of its own.
    ///
    /// - Throws: ``ClientError`` if the daemon cannot be reached.
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
    /// The maximum number of unread events. A busy app causes as many within some seconds; a reader that is further
    /// behind has to read all lists again.
    nonisolated static let maximumWaiting = 1024

    private let link: BusLink
    private let stream: AsyncStream<SettingsEvent>.Continuation
    private var signals: [Subscription] = []
    private var listener: Subscription?
    /// How often the daemon has come or gone. An attempt to subscribe is over at the next change, and at the end.
    private var changes = 0
    /// Whether ``SettingsEvent/missed`` is among the unread events.
    private var isMarked = false

    init(_ bus: PermissionBus, _ stream: AsyncStream<SettingsEvent>.Continuation) {
        // A connection of its own, because the daemon has one subscription for each connection.
        link = BusLink(bus, identifiesDaemon: true)
        self.stream = stream
    }

    func subscribe() async throws(ClientError) {
        if listener == nil { listener = link.onDaemonChange { [weak self] in self?.daemonChanged($0) } }
        let connection = try await link.open()
        for signal in signals { signal.cancel() }
        signals = []
        let handlers: [(String, String, @LoopActor ([Value]) -> SettingsEvent?)] = [
            (BusNames.policy, "DecisionChanged", SettingsFollower.decision),
            (BusNames.policy, "SwitchChanged", SettingsFollower.switched),
            (BusNames.policy, "RequestChanged", SettingsFollower.request),
            (BusNames.policy, "QueueChanged", { $0.first?.uint32Value.map { .queueChanged(length: Int($0)) } }),
            (
                BusNames.devices, "DeviceAdded",
                { $0.first?.properties.flatMap(DeviceRow.init).map { .deviceAdded($0) } }
            ),
            (BusNames.devices, "DeviceRemoved", SettingsFollower.removed),
            (BusNames.usage, "UseStarted", { $0.first?.properties.flatMap(UseRow.init).map { .useStarted($0) } }),
            (BusNames.usage, "UseEnded", SettingsFollower.ended),
        ]
        for (interface, member, read) in handlers {
            signals.append(
                link.onSignal(interface, member, on: connection) { [weak self] message in
                    if let event = read(message.body) { self?.report(event) }
                })
        }
        for interface in [BusNames.policy, BusNames.devices, BusNames.usage] {
            _ = try await link.call(interface, "Subscribe")
        }
    }

    /// Adds an event. If an older event was dropped for it, also adds `missed`, unless that is already there.
    private func report(_ event: SettingsEvent) {
        guard case .dropped(let lost) = stream.yield(event) else {
            isMarked = false
            return
        }
        if isMarked, lost != .missed { return }
        isMarked = true
        stream.yield(.missed)
    }

    private func daemonChanged(_ isThere: Bool) {
        changes += 1
        guard isThere else { return report(.daemonLost) }
        let number = changes
        Task {
            do throws(ClientError) { try await subscribeAgain() } catch {
                await link.retry(unless: { number != changes }) { () throws(ClientError) in try await subscribeAgain() }
            }
        }
    }

    private func subscribeAgain() async throws(ClientError) {
        try await subscribe()
        report(.daemonBack)
    }

    func stop() {
        changes += 1
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

    private static func switched(_ body: [Value]) -> SettingsEvent? {
        guard body.count == 2, let permission = body[0].stringValue.flatMap(Permission.init(rawValue:)),
            let isOn = body[1].boolValue
        else { return nil }
        return .switchChanged(permission, isOn: isOn)
    }

    private static func request(_ body: [Value]) -> SettingsEvent? {
        guard body.count == 4, let app = body[1].stringValue.flatMap(AppID.init), let names = body[2].strings,
            let state = body[3].stringValue
        else { return nil }
        return .requestChanged(app: app, names.compactMap(PromptItem.init(name:)), state: state)
    }

    private static func ended(_ body: [Value]) -> SettingsEvent? {
        guard body.count == 2, let use = body[0].uint32Value, let seconds = body[1].uint64Value else { return nil }
        return .useEnded(use, seconds: seconds)
    }

    private static func removed(_ body: [Value]) -> SettingsEvent? {
        let words = body.compactMap(\.stringValue)
        guard words.count == 2, let permission = Permission(rawValue: words[0]) else { return nil }
        return .deviceRemoved(permission, id: words[1])
    }
}
