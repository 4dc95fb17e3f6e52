// GeoClue's agent of this user (org.freedesktop.GeoClue2.Agent): GeoClue gives no client to a user without one, asks it
// about sandboxed apps, and locates nobody while its MaxAccuracyLevel is 0. Desktops without an agent have permd.

import DBus
import Logging
import PermissionCore
import PermissionModel
import ProcessIdentity
import System

@LoopActor
final class LocationAgent {
    /// Where GeoClue looks for agents (AGENT_PATH in its sources).
    private static let object = "/org/freedesktop/GeoClue2/Agent"
    private static let interface = "org.freedesktop.GeoClue2.Agent"
    private static let manager = "/org/freedesktop/GeoClue2/Manager"
    private static let managerInterface = "org.freedesktop.GeoClue2.Manager"

    /// GeoClue takes the agents that its configuration lists, and believes their IDs. Every release lists this one; to
    /// list one of permd's own, geoclue.conf would have to be edited on Debian 12.
    private static let id = "geoclue-demo-agent"
    /// Owners of these names on the session bus are agents themselves.
    private static let desktops = ["org.gnome.Shell", "io.elementary.desktop.agent-geoclue2"]
    /// GClueAccuracyLevel.
    private static let (none, exact): (UInt32, UInt32) = (0, 8)
    /// Milliseconds in which connections that leave the bus lead to one registration.
    private static let pause: Int64 = 1000
    /// Calls of GeoClue that wait, one for each client of a sandboxed app. More would keep places of the queue from others.
    private static let mostWaiting = 64

    private let bus: ReconnectingBus
    private let facts: CurrentFacts
    private let now: @Sendable () -> EpochSeconds
    private let log: Logger
    /// Whether the gate before GeoClue asks this permd, so that whoever gets this far is allowed.
    private let isGated: @LoopActor () -> Bool
    /// Called when an app gets the location because of what is granted to it.
    private let onUse: @LoopActor (AppID, Permission) -> Void
    /// Nil while permd serves no session bus.
    private weak var requests: (any RequestSink)?
    private weak var session: Connection?
    private var isFollowing = false
    /// GeoClue's unique name; nil if it does not run.
    private var owner: String?
    /// GeoClue's. What an app is granted once lasts until it exits, a minute after its last client.
    private var process: ProcessKey?
    private var departures: Subscription?
    private var registration: LoopTimer?
    private var waiting = 0
    private var isOff = false

    init(
        bus: ReconnectingBus, objects: SystemBusObjects, facts: CurrentFacts,
        now: @escaping @Sendable () -> EpochSeconds, log: Logger, isGated: @escaping @LoopActor () -> Bool,
        onUse: @escaping @LoopActor (AppID, Permission) -> Void
    ) {
        (self.bus, self.facts, self.now, self.log, self.isGated) = (bus, facts, now, log, isGated)
        self.onUse = onUse
        objects.add(served, at: LocationAgent.object)
    }

    /// permd serves a session bus, with this queue.
    func serve(_ requests: any RequestSink, on session: Connection) {
        (self.requests, self.session) = (requests, session)
        guard !isFollowing else { return register() }
        isFollowing = true
        isOff = facts.isOff(.location)
        bus.follow { [weak self] event in
            switch event {
            case .opened(let connection):
                connection.onOwnerChange(of: GeoClueProbe.service) { self?.ownerChanged($0) }
                connection.askBus("GetNameOwner", .string(GeoClueProbe.service)) {
                    self?.ownerChanged($0?.stringValue)
                }
            case .lost: self?.ownerChanged(nil)
            case .failed: break
            }
        }
    }

    /// The queue takes no more requests.
    func pause() { (requests, session) = (nil, nil) }

    /// The location may have been switched off, or on.
    func changed() {
        guard facts.isOff(.location) != isOff else { return }
        isOff.toggle()
        guard let owner else { return }
        let changes: [Value] = [
            .string(LocationAgent.interface), .properties(["MaxAccuracyLevel": .uint32(level)]), .strings([]),
        ]
        bus.connection?.send(
            .signal(
                path: LocationAgent.object, interface: StandardInterfaces.properties, member: "PropertiesChanged",
                changes, destination: owner))
    }

    private var level: UInt32 { isOff ? LocationAgent.none : LocationAgent.exact }

    // MARK: Registration

    private func ownerChanged(_ new: String?) {
        guard new != owner else { return }
        if owner != nil { requests?.feed(.callerLeft(GeoClueProbe.service)) }
        departures?.cancel()
        registration?.cancel()
        (owner, process, departures, registration) = (new, nil, nil, nil)
        guard let new, let connection = bus.connection else { return }
        ConnectedProcess.find(new, on: connection) { [weak self] found in
            guard let self, owner == new, case .success(let found) = found else { return }
            process = try? ProcessReader().key(found.pid)
            register()
        }
    }

    private func register(_ desktops: [String] = desktops) {
        guard let owner, process != nil, let session else { return }
        if let desktop = desktops.first {
            return session.askBus("NameHasOwner", .string(desktop)) { [weak self] isThere in
                if isThere?.boolValue != true { self?.register(Array(desktops.dropFirst())) }
            }
        }
        let call = Message.call(
            destination: owner, path: LocationAgent.manager, interface: LocationAgent.managerInterface,
            member: "AddAgent", [.string(LocationAgent.id)])
        // Before, so that none is missed.
        followDepartures()
        bus.connection?.call(call) { [weak self] result in
            guard let self, self.owner == owner, case .failure(let error) = result else { return }
            log.warning("GeoClue does not take permd as its agent: \(error.message)")
            departures?.cancel()
            departures = nil
        }
    }

    /// The newest agent is asked. When another one leaves, GeoClue may have none (2.6, 2.8), and says so to nobody.
    private func followDepartures() {
        guard departures == nil else { return }
        departures = bus.connection?.onSignal(
            sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged"
        ) { [weak self] signal in
            guard let self, signal.body.count == 3, signal.body[2].stringValue == "",
                signal.body[0].stringValue?.hasPrefix(":") == true, registration == nil
            else { return }
            registration = Loop.shared.after(milliseconds: LocationAgent.pause) { [weak self] in
                self?.registration = nil
                self?.register()
            }
        }
    }

    // MARK: Questions

    private var served: Interface {
        Interface(
            name: LocationAgent.interface,
            methods: [
                Method(
                    name: "AuthorizeApp", inputs: ["desktop_id": "s", "req_accuracy_level": "u"],
                    outputs: ["authorized": "b", "allowed_accuracy_level": "u"]
                ) { [weak self] in self?.authorize($0) }
            ],
            properties: [
                Property("MaxAccuracyLevel", "u") { [weak self] _ in .uint32(self?.level ?? LocationAgent.none) }
            ])
    }

    private func authorize(_ call: MethodCall) {
        guard let owner, call.sender == owner else {
            return call.fail(PermissionError(.accessDenied, "only GeoClue may call this"))
        }
        let level = call.arguments[1].uint32Value ?? LocationAgent.none
        let answer = { @LoopActor (isGranted: Bool) in
            call.reply(.bool(isGranted), .uint32(isGranted ? level : LocationAgent.none))
        }
        // GeoClue has the ID from the control group, which flatpak names after the app.
        guard let app = AppID("flatpak:\(call.arguments[0].stringValue ?? "")"), let process else {
            return answer(false)
        }
        let caller = Caller(connection: GeoClueProbe.service, app: app, process: process)
        switch facts.access(to: .location, for: caller).access {
        case .allowed:
            onUse(app, .location)
            answer(true)
        case .refused: answer(false)
        case .ask: if isGated() { answer(true) } else { ask(caller, answer) }
        }
    }

    private func ask(_ caller: Caller, _ answer: @escaping @LoopActor (Bool) -> Void) {
        guard let requests, waiting < LocationAgent.mostWaiting else { return answer(false) }
        waiting += 1
        let requester = LocationRequest { [weak self] in
            self?.waiting -= 1
            answer($0)
        }
        requests.feed(.requested(requests.systemRequest(.location, by: caller, at: now(), requester)))
    }
}

/// What GeoClue asks, in the queue.
@LoopActor
private final class LocationRequest {
    private let answer: @LoopActor (Bool) -> Void

    init(_ answer: @escaping @LoopActor (Bool) -> Void) { self.answer = answer }
}

extension LocationRequest: @LoopActor Requester {
    func accept() {}
    func moved(from old: QueuePlace, to new: QueuePlace) {}
    func refuse(_ error: PermissionError) { answer(false) }
    func respond(_ reply: Reply) { answer(reply.statuses[.location] == .granted) }
    func forget() { answer(false) }
}
