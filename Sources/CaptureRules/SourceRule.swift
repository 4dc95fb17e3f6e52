// Which nodes carry what a microphone or a camera captures, and which nodes record.

package import PermissionModel

/// What PipeWire calls the nodes of a permission. The same table is in wireplumber/marks.lua.
package struct CaptureKind: Sendable {
    package let permission: Permission
    /// The beginnings of the media classes of its sources: `Audio/Source/Virtual` is a source as well.
    let sources: [String]
    /// The beginning of the media classes of the streams that record from them.
    let streams: String
    /// Whether streams that wait can be given silence.
    let hasSilence: Bool

    package static let all = [
        CaptureKind(
            permission: .microphone, sources: ["Audio/Source", "Audio/Duplex"], streams: "Stream/Input/Audio",
            hasSilence: true),
        CaptureKind(permission: .camera, sources: ["Video/Source"], streams: "Stream/Input/Video", hasSilence: false),
    ]

    static func of(_ permission: Permission) -> CaptureKind? { all.first { $0.permission == permission } }
}

extension Node {
    /// The permission for a node that is a source itself.
    var sourcePermission: Permission? {
        CaptureKind.all.first { $0.sources.contains(where: mediaClass.hasPrefix) }?.permission
    }

    /// The permission that a capture stream needs for what it will be given. What a sink plays needs none.
    var streamPermission: Permission? {
        recordsSink ? nil : CaptureKind.all.first { mediaClass.hasPrefix($0.streams) }?.permission
    }
}

/// The nodes whose outputs need a permission.
package struct Sources: Sendable, Equatable {
    package private(set) var permissions: [ObjectID: Permission] = [:]

    /// A source is a microphone or a camera unless it is the output of a filter that, as it is linked now, gets
    /// something else. A filter without any input counts, as it may get one at any moment. Whatever gets the output of a
    /// microphone passes it on: the other end of its filter, and the monitor of a sink. So what the speakers play is no
    /// microphone unless a filter plays one there.
    ///
    /// - Parameter silence: The source of silence, which is none.
    package init(of graph: Graph, silence: ObjectID? = nil) {
        var groups: [String: [ObjectID]] = [:]
        for (id, node) in graph.nodes { if let group = node.group { groups[group, default: []].append(id) } }
        var targets: [ObjectID: [ObjectID]] = [:]
        for link in graph.links.values { targets[link.ends.outputNode, default: []].append(link.ends.inputNode) }
        for permission in CaptureKind.all.map(\.permission) {
            var reached = graph.nodes.keys.filter {
                $0 != silence && Sources.own($0, graph, groups) == permission
            }
            while let id = reached.popLast() {
                guard permissions.updateValue(permission, forKey: id) == nil else { continue }
                for target in targets[id] ?? [] where permissions[target] == nil && target != silence {
                    reached.append(target)
                    reached += graph.nodes[target]?.group.flatMap { groups[$0] } ?? []
                }
            }
        }
    }

    /// The permission of a node that is a source whatever others are linked to it.
    private static func own(_ id: ObjectID, _ graph: Graph, _ groups: [String: [ObjectID]]) -> Permission? {
        guard let node = graph.nodes[id], let permission = node.sourcePermission else { return nil }
        guard let group = node.group, let ends = groups[group], ends.count > 1 else { return permission }
        for end in ends where end != id {
            let mediaClass = graph.nodes[end]?.mediaClass ?? ""
            if mediaClass.hasPrefix("Audio/Sink") { return nil }
            if mediaClass.hasPrefix("Stream/Input"), !graph.links(into: end).isEmpty { return nil }
        }
        return permission
    }

    /// The nodes that look like sources but carry nothing that needs a permission.
    package func plain(in graph: Graph) -> [ObjectID] {
        graph.nodes.filter { permissions[$0.key] == nil && $0.value.sourcePermission != nil }.map(\.key)
    }
}

/// A node that records, or waits to.
package struct Recorder: Sendable, Hashable {
    package let node: ObjectID
    /// See ``Graph/holder(of:)``.
    package let holder: ObjectID
    package let permission: Permission
    /// The sources that it is linked to; empty if it waits for one.
    package let sources: [ObjectID]

    package init(node: ObjectID, holder: ObjectID, permission: Permission, sources: [ObjectID]) {
        self.node = node
        self.holder = holder
        self.permission = permission
        self.sources = sources
    }
}

extension Graph {
    /// All recorders, in the order of their IDs. Nodes of the PipeWire daemon itself are none, nor is a source that is
    /// linked to a node of the same holder.
    package func recorders(_ sources: Sources, silence: ObjectID? = nil) -> [Recorder] {
        nodes.keys.sorted().flatMap { recorders(at: $0, sources, silence) }
    }

    private func recorders(at id: ObjectID, _ sources: Sources, _ silence: ObjectID?) -> [Recorder] {
        guard let node = nodes[id], let holder = holder(of: id) else { return [] }
        var linked: [Permission: [ObjectID]] = [:]
        var hasOther = false
        for (_, link) in links(into: id) where link.ends.outputNode != silence {
            let source = link.ends.outputNode
            if let permission = sources.permissions[source] {
                if self.holder(of: source) != holder || nodes[source]?.group != nil {
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
            Recorder(node: id, holder: holder, permission: $0, sources: Array(Set(linked[$0]!)).sorted())
        }
    }
}
