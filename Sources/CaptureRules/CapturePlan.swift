// What has to be done so that exactly those who may record do. Each step compares what is with what should be, so that
// nothing depends on having seen every change.

package import PermissionModel

/// What is known of a client, or of a node that outlives its maker, beyond the graph.
package struct ClientPolicy: Sendable, Equatable {
    /// What it may record.
    package var rights: [Permission: Access]
    /// Whether it speaks to a sound server that gives up streams without data.
    package var needsSilence: Bool
    /// Whether the client is to keep its rights whatever the right, so that it can list sources. Only the session
    /// manager links for it, and asks first.
    package var mayListSources: Bool
    /// Whether it loses its rights on what permd depends on.
    package var isConfined: Bool

    package init(
        rights: [Permission: Access], needsSilence: Bool = false, mayListSources: Bool = false,
        isConfined: Bool = false
    ) {
        self.rights = rights
        self.needsSilence = needsSilence
        self.mayListSources = mayListSources
        self.isConfined = isConfined
    }

    package func allows(_ permission: Permission) -> Bool { rights[permission] == .allowed }

    func mayHaveRights(_ permission: Permission) -> Bool { mayListSources || allows(permission) }
}

package enum Effect: Sendable, Hashable {
    /// Take a client's rights on these objects.
    case forbid(client: ObjectID, objects: [ObjectID])
    /// Give them back.
    case permit(client: ObjectID, objects: [ObjectID])
    case cut(link: ObjectID)
    /// A link that nobody but its client can have made was cut.
    case reportBypass(holder: ObjectID, node: ObjectID, permission: Permission)
    case join(LinkEnds)
    /// Have the session manager link these nodes as it does at their beginning.
    case relink([ObjectID])
    /// Link the silent source to these ports.
    case silence(node: ObjectID, ports: [ObjectID])
    case endSilence(node: ObjectID)
}

package struct CapturePlan: Sendable {
    /// Links that were cut, by the node that recorded, to be made again if it may. Bounded by the node's ports.
    private var cutLinks: [ObjectID: [LinkEnds]] = [:]
    private var forbidden: [ObjectID: Set<ObjectID>] = [:]
    /// Clients whose rights others may have taken.
    private var unsure: Set<ObjectID> = []
    private var cutting: Set<ObjectID> = []
    /// Nodes that might record in the last step. The session manager may have failed to link others, as long as their
    /// clients had lost their rights.
    private var released: Set<ObjectID> = []
    private var silenced: Set<ObjectID> = []
    /// The links of the last step; nil before the first.
    private var seen: Set<ObjectID>?
    /// Links that were made by an effect.
    private var joined: Set<LinkEnds> = []

    /// A node is not linked more often than this, whatever it has.
    private static let mostLinks = 64

    package init() {}

    /// The session manager may have taken rights of this client: the next step sets all of them.
    package mutating func rightsAreUnsure(of client: ObjectID) { unsure.insert(client) }

    /// The silent source has gone, with all its links.
    package mutating func forgetSilence() { silenced = [] }

    /// - Parameters:
    ///   - gone: What has gone since the last step.
    ///   - policies: The holders that are known. The others are not touched: they may be the session manager.
    ///   - reserved: What permd depends on.
    ///   - canRelink: Whether the session manager links again on request. If not, cut links are made again.
    ///   - isLinker: Whether a client makes links for others.
    package mutating func step(
        _ graph: Graph, gone: Gone, _ sources: Sources, _ recorders: [Recorder],
        policies: [ObjectID: ClientPolicy], reserved: Set<ObjectID> = [],
        canRelink: Bool, isLinker: (ObjectID) -> Bool
    ) -> [Effect] {
        forget(gone.objects)
        if !canRelink { rememberUnseen(gone.unseenLinks, graph, sources, isLinker) }
        var effects = rights(graph, sources, policies, reserved)
        var (waiting, nowReleased): (Set<ObjectID>, Set<ObjectID>) = ([], [])
        var relinked: [ObjectID] = []
        for recorder in recorders {
            guard let policy = policies[recorder.holder] else { continue }
            if policy.allows(recorder.permission) {
                // Its links may still be being cut.
                guard graph.links(into: recorder.node).allSatisfy({ !cutting.contains($0.id) }) else { continue }
                effects += release(recorder, graph, &relinked)
                nowReleased.insert(recorder.node)
            } else {
                effects += withhold(recorder, graph, canRelink: canRelink, isLinker: isLinker)
                waiting.insert(recorder.node)
            }
        }
        effects += silence(graph, recorders, policies, waiting, isLinker: canRelink)
        released = nowReleased
        if !relinked.isEmpty { effects.append(.relink(relinked)) }
        seen = Set(graph.links.keys)
        return effects
    }

    private mutating func forget(_ gone: Set<ObjectID>) {
        guard !gone.isEmpty else { return }
        for id in gone {
            cutLinks[id] = nil
            forbidden[id] = nil
        }
        unsure.subtract(gone)
        for client in forbidden.keys where !forbidden[client]!.isDisjoint(with: gone) {
            forbidden[client]!.subtract(gone)
        }
        cutting.subtract(gone)
        silenced.subtract(gone)
        released.subtract(gone)
        seen?.subtract(gone)
        joined = joined.filter { !gone.contains($0.outputPort) && !gone.contains($0.inputPort) }
    }

    // MARK: Rights

    private mutating func rights(
        _ graph: Graph, _ sources: Sources, _ policies: [ObjectID: ClientPolicy], _ reserved: Set<ObjectID>
    ) -> [Effect] {
        var objects: [Permission: [(owner: ObjectID?, id: ObjectID)]] = [:]
        // Streams that record can be recorded from as well. There may be thousands, so links to them are only cut.
        for (node, permission) in sources.permissions
        where graph.nodes[node]?.mediaClass.hasPrefix("Stream/") != true {
            for id in [node] + graph.ports(of: node, isOutput: true) {
                objects[permission, default: []].append((graph.nodes[node]?.client, id))
            }
        }
        return policies.keys.filter { graph.clients[$0] != nil }.sorted().flatMap { client -> [Effect] in
            let isUnsure = unsure.remove(client) != nil
            var (wanted, other): (Set<ObjectID>, Set<ObjectID>) = (policies[client]!.isConfined ? reserved : [], [])
            for (permission, all) in objects {
                let mayHaveRights = policies[client]!.mayHaveRights(permission)
                guard !mayHaveRights || isUnsure else { continue }
                for object in all where object.owner != client {
                    if mayHaveRights { other.insert(object.id) } else { wanted.insert(object.id) }
                }
            }
            return setRights(client, to: wanted, from: isUnsure ? other : forbidden[client])
        }
    }

    private mutating func setRights(
        _ client: ObjectID, to wanted: Set<ObjectID>, from before: Set<ObjectID>?
    ) -> [Effect] {
        guard before != wanted else { return [] }
        forbidden[client] = wanted
        let taken = wanted.subtracting(before ?? [])
        let given = (before ?? []).subtracting(wanted)
        var effects: [Effect] = []
        if !taken.isEmpty { effects.append(.forbid(client: client, objects: taken.sorted())) }
        if !given.isEmpty { effects.append(.permit(client: client, objects: given.sorted())) }
        return effects
    }

    // MARK: Links

    /// A link of the session manager is routine, as are our own and those from before the client lost its rights. Any
    /// other was made past us.
    private mutating func withhold(
        _ recorder: Recorder, _ graph: Graph, canRelink: Bool, isLinker: (ObjectID) -> Bool
    ) -> [Effect] {
        var effects: [Effect] = []
        for (id, link) in graph.links(into: recorder.node)
        where recorder.sources.contains(link.ends.outputNode) && cutting.insert(id).inserted {
            let isRoutine = link.maker.map(isLinker) ?? joined.contains(link.ends)
            let isOld = seen?.contains(id) ?? true
            if !canRelink, isRoutine || isOld { remember(link.ends) }
            effects.append(.cut(link: id))
            if !isRoutine, !isOld {
                effects.append(
                    .reportBypass(holder: recorder.holder, node: recorder.node, permission: recorder.permission))
            }
        }
        return effects
    }

    /// PipeWire itself removes a link when one of its clients loses the rights on the other's node, perhaps before a step has
    /// seen it, and after they were given back. The session manager takes it for one that is there.
    private mutating func rememberUnseen(
        _ links: [Link], _ graph: Graph, _ sources: Sources, _ isLinker: (ObjectID) -> Bool
    ) {
        for link in links where link.maker.map(isLinker) == true && graph.nodes[link.ends.inputNode] != nil {
            if sources.permissions[link.ends.outputNode] != nil { remember(link.ends) }
        }
    }

    private mutating func remember(_ ends: LinkEnds) {
        var known = cutLinks[ends.inputNode] ?? []
        known.removeAll { $0.inputPort == ends.inputPort }
        if known.count < CapturePlan.mostLinks { known.append(ends) }
        cutLinks[ends.inputNode] = known
    }

    private mutating func release(_ recorder: Recorder, _ graph: Graph, _ relinked: inout [ObjectID]) -> [Effect] {
        let known = cutLinks.removeValue(forKey: recorder.node) ?? []
        guard recorder.sources.isEmpty else { return [] }
        let possible = known.filter {
            graph.ports[$0.outputPort]?.node == $0.outputNode && graph.ports[$0.inputPort]?.node == $0.inputNode
        }
        if possible.isEmpty {
            if !released.contains(recorder.node) { relinked.append(recorder.node) }
            return []
        }
        joined.formUnion(possible)
        return possible.map { .join($0) }
    }

    // MARK: Silence

    private mutating func silence(
        _ graph: Graph, _ recorders: [Recorder], _ policies: [ObjectID: ClientPolicy], _ waiting: Set<ObjectID>,
        isLinker: Bool
    ) -> [Effect] {
        var effects: [Effect] = []
        for node in silenced.sorted() where !waiting.contains(node) {
            silenced.remove(node)
            effects.append(.endSilence(node: node))
        }
        for recorder in recorders
        where waiting.contains(recorder.node) && policies[recorder.holder]?.needsSilence == true
            && CaptureKind.of(recorder.permission)?.hasSilence == true && !silenced.contains(recorder.node)
        {
            let ports = graph.ports(of: recorder.node, isOutput: false)
            // The session manager makes the ports with the first link.
            guard isLinker || !ports.isEmpty else { continue }
            silenced.insert(recorder.node)
            effects.append(.silence(node: recorder.node, ports: ports))
        }
        return effects
    }
}
