// Which nodes carry what a microphone or a camera captures, and which nodes record.

public import PermissionModel

extension Node {
    /// The permission for a node that is a source itself.
    var sourcePermission: Permission? {
        // PipeWire compares classes as text; `Audio/Source/Virtual` is a source as well.
        if mediaClass.hasPrefix("Audio/Source") || mediaClass.hasPrefix("Audio/Duplex") { return .microphone }
        return mediaClass.hasPrefix("Video/Source") ? .camera : nil
    }

    /// The permission that a capture stream needs for what it will be given.
    var streamPermission: Permission? {
        if mediaClass.hasPrefix("Stream/Input/Audio") { return recordsSink ? nil : .microphone }
        return mediaClass.hasPrefix("Stream/Input/Video") ? .camera : nil
    }
}

/// The nodes whose outputs need a permission.
public struct Sources: Sendable, Equatable {
    public private(set) var permissions: [ObjectID: Permission] = [:]

    /// A source is a microphone or a camera unless it is the output of a filter that, as it is linked now, gets
    /// something else. A filter without any input counts, as it may get one at any moment. What the speakers play is no
    /// microphone, unless a filter plays a microphone there.
    ///
    /// - Parameter silence: The source of silence, which is none.
    public init(of graph: Graph, silence: ObjectID? = nil) {
        var groups: [String: [ObjectID]] = [:]
        for (id, node) in graph.nodes { if let group = node.group { groups[group, default: []].append(id) } }
        var search = Search(graph: graph, groups: groups, silence: silence)
        for id in graph.nodes.keys where id != silence {
            if let permission = search.permission(of: id) { permissions[id] = permission }
        }
    }

    /// The nodes that look like sources but carry nothing that needs a permission.
    public func plain(in graph: Graph) -> [ObjectID] {
        graph.nodes.filter { permissions[$0.key] == nil && $0.value.sourcePermission != nil }.map(\.key)
    }

    private struct Search {
        let graph: Graph
        let groups: [String: [ObjectID]]
        private var known: [ObjectID: Permission?] = [:]

        init(graph: Graph, groups: [String: [ObjectID]], silence: ObjectID?) {
            self.graph = graph
            self.groups = groups
            if let silence { known[silence] = .some(nil) }
        }

        /// Iterative in effect: the depth is bounded, because anybody can make long chains of filters.
        mutating func permission(of id: ObjectID, depth: Int = 0) -> Permission? {
            if let permission = known[id] { return permission }
            guard let node = graph.nodes[id] else { return nil }
            // A chain that is too long to follow counts as one from a source.
            guard depth < Search.longestChain else { return node.kindOfMedia }
            known[id] = .some(nil)
            let found = find(id, node, depth)
            known[id] = .some(found)
            return found
        }

        private mutating func find(_ id: ObjectID, _ node: Node, _ depth: Int) -> Permission? {
            let ends = inputs(of: id, node)
            let isFilter = ends.count > 1
            for end in ends {
                for (_, link) in graph.links(into: end) where link.ends.outputNode != id {
                    if let permission = permission(of: link.ends.outputNode, depth: depth + 1) { return permission }
                }
            }
            guard let own = node.sourcePermission else { return nil }
            let takesCapture = ends.contains { graph.nodes[$0]?.mediaClass.hasPrefix("Stream/Input") == true }
            let isFed = ends.contains { !graph.links(into: $0).isEmpty }
            let playsInto = ends.contains { graph.nodes[$0]?.mediaClass.hasPrefix("Audio/Sink") == true }
            return isFilter && (playsInto || takesCapture && isFed) ? nil : own
        }

        /// The nodes whose inputs come out of this node: itself, and the other ends of the same filter.
        private func inputs(of id: ObjectID, _ node: Node) -> [ObjectID] {
            guard let group = node.group, let all = groups[group] else { return [id] }
            return all.contains(id) ? all : all + [id]
        }

        private static let longestChain = 32
    }
}

extension Node {
    /// The permission that a source of its kind of media would need.
    fileprivate var kindOfMedia: Permission? {
        if mediaClass.contains("Video") { return .camera }
        return mediaClass.contains("Audio") ? .microphone : nil
    }
}

/// A node that records, or waits to.
public struct Recorder: Sendable, Hashable {
    public let node: ObjectID
    public let client: ObjectID
    public let permission: Permission
    /// The sources that it is linked to; empty if it waits for one.
    public let sources: [ObjectID]

    public init(node: ObjectID, client: ObjectID, permission: Permission, sources: [ObjectID]) {
        self.node = node
        self.client = client
        self.permission = permission
        self.sources = sources
    }
}

extension Graph {
    /// All recorders, in the order of their IDs. Nodes of the PipeWire daemon itself are none, nor is a source that is
    /// linked to a node of the same client.
    public func recorders(_ sources: Sources, silence: ObjectID? = nil) -> [Recorder] {
        nodes.keys.sorted().flatMap { recorders(at: $0, sources, silence) }
    }

    private func recorders(at id: ObjectID, _ sources: Sources, _ silence: ObjectID?) -> [Recorder] {
        guard let node = nodes[id], let client = node.client else { return [] }
        var linked: [Permission: [ObjectID]] = [:]
        var hasOther = false
        for (_, link) in links(into: id) where link.ends.outputNode != silence {
            let source = link.ends.outputNode
            if let permission = sources.permissions[source] {
                if nodes[source]?.client != client || nodes[source]?.group != nil {
                    linked[permission, default: []].append(source)
                }
            } else {
                hasOther = true
            }
        }
        if linked.isEmpty, !hasOther, node.isComplete, let permission = node.streamPermission {
            linked[permission] = []
        }
        return linked.keys.sorted().map {
            Recorder(node: id, client: client, permission: $0, sources: Array(Set(linked[$0]!)).sorted())
        }
    }
}
