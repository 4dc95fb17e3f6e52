// Joins PipeWire and permd: after each turn in which something changed, it compares what is with what should be.

import CPipeWire
import CaptureRules
import DBus
import EnforcementClient
import Glibc
import Journal
import Logging
import PermissionModel
import ProcessIdentity
import System

@LoopActor
final class Enforcer {
    /// Milliseconds for which changes are collected that concern nobody who records. Hundreds of programs that play may
    /// connect at once, and a step looks at all clients.
    private static let collectingTime: Int64 = 20

    /// Milliseconds after which the session manager, which starts at the same time, has loaded our script if it has it.
    private static let scriptDelay: Int64 = 5000

    private let log: Logger
    /// Links that apps made for themselves and that were cut.
    private let bypasses: BoundedLog
    private var connection: PipeWireConnection? { didSet { owners.connection = connection } }
    private var mirror = GraphMirror()
    private var owners: ClientOwners { search.owners }
    private lazy var search = OwnerSearch(log) { [weak self] in self?.stepLater() }
    private var plan = CapturePlan()
    private var marks = SessionManagerMarks()
    private lazy var silence = SilentSource { [weak self] in self?.stepLater() }
    private let permd: EnforcementPoint
    /// Between attempts to reach PipeWire, until which nobody new records.
    private var backoff = Backoff(longest: 2000)
    private var isStepDue = false
    private var isChanged = false
    /// Whether a change concerns somebody who records, or may.
    private var isUrgent = false
    private var collecting: LoopTimer?
    private var recording: Set<Subject> = []
    private var isReady = false
    /// What PipeWire has said of what was there when it was reached.
    private enum Listing { case nothing, objects, properties, metadata, all }
    private var listing = Listing.nothing
    private var isTimeToBegin = false
    /// The metadata that is there, and its maker. It counts if that is the session manager.
    private var unknownMetadata: [ObjectID: (name: String, maker: ObjectID?)] = [:]
    var whenReady: (@LoopActor () -> Void)?

    init(log: Logger) {
        self.log = log
        bypasses = BoundedLog(log, "links past permd were cut")
        permd = EnforcementPoint(source: "pipewire", permissions: CaptureKind.all.map(\.permission))
    }

    func start() async throws {
        if !owners.canIdentify {
            log.error(
                "The kernel does not report the peers of sockets, so nobody can be identified and nobody records. Load its module: modprobe unix_diag"
            )
        }
        permd.onAccess = { [weak self] in self?.accessKnown($0) }
        permd.onChange = { [weak self] in self?.stepLater() }
        try await permd.start()
        connect()
    }

    func stop() {
        connection?.close()
        connection = nil
    }

    private func connect() {
        do throws(PipeWireConnection.Failure) {
            let opened = try PipeWireConnection(self)
            connection = opened
            backoff.reset()
        } catch {
            Loop.shared.after(milliseconds: backoff.next()) { [weak self] in self?.connect() }
        }
    }

    // MARK: Steps

    private func stepLater() {
        guard !isStepDue else { return }
        isStepDue = true
        Loop.shared.later { [weak self] in
            self?.isStepDue = false
            self?.step()
        }
    }

    /// Takes a step soon, together with what changes until then.
    private func collect() {
        guard collecting == nil else { return }
        collecting = Loop.shared.after(milliseconds: Enforcer.collectingTime) { [weak self] in self?.step() }
    }

    private func accessKnown(_ subject: Subject) {
        if recording.contains(subject) || !isReady { stepLater() } else { collect() }
    }

    private func step() {
        collecting?.cancel()
        collecting = nil
        (isChanged, isUrgent) = (false, false)
        guard let connection else { return }
        guard listing == .all else { return list(connection) }
        followMetadata(connection)
        let gone = mirror.takeGone()
        let graph = mirror.graph
        let sources = Sources(of: graph, silence: silence.node)
        let recorders = graph.recorders(sources, silence: silence.node)
        identify(recorders)
        let policies = policies(graph)
        let effects = plan.step(
            graph, gone: gone, sources, recorders, policies: policies,
            reserved: Set(owners.clients(of: getpid()) + [marks.metadata].compactMap { $0 }), canRelink: marks.isThere,
            isLinker: { [owners] in owners.owner($0) == .session })
        for effect in effects { apply(effect, connection) }
        marks.update(graph, sources, policies, silence, connection)
        connection.flush()
        report(recorders, sources, policies)
        beReady()
    }

    private func identify(_ recorders: [Recorder]) {
        search.find(recorders)
        recording = Set(recorders.compactMap { owners.owner($0.holder)?.subject })
        let others = mirror.graph.clients.keys.compactMap { owners.owner($0)?.subject }
        permd.access.follow(recording.union(others), first: recording)
    }

    private func policies(_ graph: Graph) -> [ObjectID: ClientPolicy] {
        var policies: [ObjectID: ClientPolicy] = [:]
        let holders = Set(graph.clients.keys).union(graph.nodes.filter { $0.value.outlivesMaker }.keys)
        for id in holders {
            let isRelayed = owners.isRelayed(id)
            let owner = owners.owner(id)
            let rights = CaptureKind.all.map { ($0.permission, right(id, owner ?? .unknown, $0.permission)) }
            // Nobody's rights are touched before it is known who that is: it may be the session manager.
            guard let owner = owner ?? (isRelayed ? .unknown : nil) else {
                policies[id] = ClientPolicy(rights: Dictionary(uniqueKeysWithValues: rights), mayListSources: true)
                continue
            }
            // A sound server's clients cannot make links. Other programs outside sandboxes see sources until permd has
            // answered: taking them away for a moment would make short lists incomplete.
            let isNew = CaptureKind.all.contains { said(of: owner, $0.permission) == nil }
            policies[id] = ClientPolicy(
                rights: Dictionary(uniqueKeysWithValues: rights), needsSilence: isRelayed,
                mayListSources: marks.isThere && !owner.isSandboxed && (isRelayed || isNew),
                isConfined: owner.isSandboxed && !isRelayed)
        }
        return policies
    }

    /// Until permd has said anything about it, a client records on that an earlier run of this program has let record: by a
    /// restart, nobody loses a stream.
    private func right(_ holder: ObjectID, _ owner: Owner, _ permission: Permission) -> Access {
        // A portal has asked already, and passes connections on for other purposes, too.
        if permission == .camera, let portal = owners.portal(holder) {
            return portal.isForCamera || permd.ask == .none ? .allowed : .refused
        }
        let isKnown = owner.subject.map(permd.access.isKnown) ?? true
        return Access(
            owner, said(of: owner, permission), ask: permd.ask,
            wasAllowed: !isKnown && marks.allow(holder, permission))
    }

    private func said(of owner: Owner, _ permission: Permission) -> Access? {
        owner.subject.flatMap { permd.access[$0, permission]?.access }
    }

    private func apply(_ effect: Effect, _ connection: PipeWireConnection) {
        switch effect {
        case .forbid(let client, let objects): connection.setRights(of: client, on: objects, 0)
        case .permit(let client, let objects): connection.setRights(of: client, on: objects, CPIPEWIRE_UNSET)
        case .cut(let link): connection.destroy(link)
        case .join(let ends): connection.join(ends)
        case .relink(let nodes): relink(nodes, connection)
        case .silence(let node, let ports):
            silence.give(to: node, ports, isManaged: marks.isThere, connection)
        case .endSilence(let node): silence.end(of: node)
        case .reportBypass(let holder, let node, let permission): reportBypass(holder, node, permission)
        }
    }

    /// Without our configuration, older session managers look again when a target changes, newer ones when their filters
    /// change.
    private func relink(_ nodes: [ObjectID], _ connection: PipeWireConnection) {
        guard !marks.isThere else { return }
        let value = String(Loop.uptimeMilliseconds())
        if let filters = mirror.metadata(named: "filters") {
            connection.setMetadata(filters, subject: 0, key: "permd.look-again", type: "Spa:Int", value: value)
        } else if let targets = mirror.metadata(named: "default") {
            connection.setMetadata(targets, subject: 0, key: "target.node", type: "Spa:Id", value: value)
        }
    }

    private func reportBypass(_ holder: ObjectID, _ node: ObjectID, _ permission: Permission) {
        let subject = owners.owner(holder)?.subject
        let name = mirror.graph.nodes[node]?.name ?? ""
        let app = subject?.app.description
        bypasses.notice(
            "\(app ?? "A program that cannot be identified") linked \(name) to a \(permission.rawValue) past permd; the link was cut",
            metadata: ["outcome": "bypassed", "app": "\(app ?? "")", "permission": "\(permission.rawValue)"])
        if let subject { permd.reportBypass(subject, permission, device: name) }
    }

    // MARK: The beginning

    /// Metadata that another client has made is not read.
    private func followMetadata(_ connection: PipeWireConnection) {
        for (id, metadata) in unknownMetadata where metadata.maker.flatMap(owners.owner) == .session {
            unknownMetadata[id] = nil
            connection.follow(id, .metadata)
            mirror.addMetadata(id, named: metadata.name)
            if metadata.name == SessionManagerMarks.name { marks.found(id) }
        }
    }

    /// Nothing is done before the clients, and what an earlier run of this program has marked, are known.
    private func list(_ connection: PipeWireConnection) {
        if listing == .metadata, isTimeToBegin { return listed() }
        guard listing == .properties else { return }
        owners.findAll()
        guard !owners.isSearching || isTimeToBegin else { return }
        followMetadata(connection)
        listing = .metadata
        if !marks.read(connection) { listed() }
    }

    private func listed() {
        listing = .all
        // Without marks of an earlier run, this is the session's beginning. A session manager that hangs tells of none.
        let isFirst =
            !marks.isReading && !marks.haveHistory
            && !unknownMetadata.values.contains { $0.name == SessionManagerMarks.name }
        let end = mirror.takeEndOfConfiguration(marks.serial)
        owners.listed(isFirst: isFirst) { [marks] id in
            marks.serial(of: id).map { $0 < end } == true || CaptureKind.all.contains { marks.allow(id, $0.permission) }
        }
        stepLater()
    }

    // MARK: permd

    private func report(_ recorders: [Recorder], _ sources: Sources, _ policies: [ObjectID: ClientPolicy]) {
        var states: [SubjectPermission: SubjectState] = [:]
        var used: Set<SubjectUse> = []
        for recorder in recorders {
            guard let subject = owners.owner(recorder.holder)?.subject,
                let right = policies[recorder.holder]?.rights[recorder.permission]
            else { continue }
            let device = mirror.deviceName(recorder, sources)
            let state = SubjectState(
                attempts: [], device: device, said: permd.access[subject, recorder.permission],
                isUndecided: right == .ask)
            states[SubjectPermission(subject, recorder.permission), default: state].attempts.insert(recorder.node)
            if right == .allowed, !recorder.sources.isEmpty, mirror.graph.nodes[recorder.node]?.isRunning == true {
                used.insert(SubjectUse(subject, recorder.permission, device: device))
            }
        }
        permd.requests.update(states)
        permd.uses.update(used)
    }

    private func beReady() {
        guard !isReady, !permd.access.isAsking else { return }
        isReady = true
        Loop.shared.after(milliseconds: Enforcer.scriptDelay) { [weak self] in
            guard let self, !marks.isThere else { return }
            log.notice("The session manager does not know permd, and may make links before they are cut: restart it")
        }
        whenReady?()
    }
}

/// What PipeWire has. The calls of one turn are followed by one ``settled()``.
extension Enforcer {
    func added(_ id: UInt32, _ kind: ObjectKind, _ properties: Properties) {
        mirror.add(id, kind, properties)
        if kind != .other { changed(isUrgent: kind != .client && !mirror.graph.isPlaying(id)) }
        switch kind {
        case .client:
            owners.added(id, process: properties["pipewire.sec.pid"].flatMap { Int32($0) })
            connection?.follow(id, kind)
        case .metadata:
            unknownMetadata[id] = (properties["metadata.name"] ?? "", properties.number("client.id"))
        // What plays is left alone.
        case .node where properties["media.class"]?.hasPrefix("Stream/Output") != true:
            owners.addedNode(id)
            connection?.follow(id, kind)
        case .node, .port, .link, .other: break
        }
        silence.added(id, kind, properties)
        if kind == .client || kind == .node { marks.added(id, properties) }
    }

    func removed(_ id: UInt32) {
        let isClient = mirror.graph.clients[id] != nil
        changed(isUrgent: !isClient && !mirror.graph.isPlaying(id))
        mirror.remove(id)
        owners.remove(id)
        unknownMetadata[id] = nil
        marks.removed(id, isClient: isClient)
        if listing == .metadata, !marks.isThere { listed() }
        if silence.removed(id) { plan.forgetSilence() } else { silence.end(of: id) }
    }

    func clientChanged(_ id: UInt32, _ properties: Properties) {
        // The session manager's script keeps the sources from those that PipeWire does not trust.
        changed(isUrgent: !marks.isThere)
        owners.update(id, mirror.setClient(id, properties))
        if listing == .all { search.findUnsought() }
    }

    func nodeChanged(_ id: UInt32, isRunning: Bool, _ properties: Properties?) {
        changed(isUrgent: true)
        mirror.setNode(id, properties, isRunning: isRunning)
        if mirror.graph.nodes[id]?.outlivesMaker == false { owners.forgetNode(id) }
    }

    func metadataChanged(_ id: UInt32, subject: UInt32, key: String?, value: String?) {
        mirror.setMetadata(id, subject, key, value)
        switch marks.changed(id, subject, key, value) {
        case .none: break
        case .isRead: if listing == .metadata { listed() } else { changed(isUrgent: true) }
        case .removed: changed(isUrgent: true)
        case .hasRead(let client):
            // It hides the sources from a client that PipeWire does not trust, perhaps after we have given it its rights.
            guard mirror.graph.clients[client]?.isTrusted == false else { break }
            plan.rightsAreUnsure(of: client)
            changed(isUrgent: true)
        }
    }

    /// - Parameter name: The name of its socket.
    func serverKnown(name: String) { owners.serverName = Array(name.utf8) }

    /// PipeWire has answered: first after the list of objects, then after their properties.
    func synced() {
        switch listing {
        case .nothing:
            listing = .objects
            connection?.sync()
        case .objects:
            listing = .properties
            isTimeToBegin = false
            // New clients that cannot be identified keep nobody waiting.
            Loop.shared.after(milliseconds: Worker.deadline) { [weak self] in
                self?.isTimeToBegin = true
                self?.stepLater()
            }
            changed(isUrgent: true)
        case .properties, .metadata, .all: break
        }
    }

    func settled() {
        if isUrgent { step() } else if isChanged { collect() }
    }

    private func changed(isUrgent: Bool) {
        isChanged = true
        if isUrgent { self.isUrgent = true }
    }

    /// PipeWire has gone. Nothing follows.
    func disconnected() {
        connection = nil
        mirror = GraphMirror()
        search.reset()
        plan = CapturePlan()
        silence.reset()
        marks = SessionManagerMarks()
        listing = .nothing
        unknownMetadata = [:]
        recording = []
        permd.access.follow([], first: [])
        permd.requests.update([:])
        permd.uses.update([])
        connect()
    }
}

extension Owner {
    /// Nil for those that permd is not asked about.
    fileprivate var subject: Subject? {
        switch self {
        case .process(let key, let app): .process(key, app)
        case .app(let app): .app(app)
        case .session, .unsandboxed, .unknown: nil
        }
    }
}
