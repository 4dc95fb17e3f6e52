// What PipeWire has: clients, nodes, ports and links, as values.

package import PermissionModel

/// The ID of an object of PipeWire. It is used again after the object has gone.
package typealias ObjectID = UInt32

/// A connection to PipeWire.
package struct Client: Sendable, Equatable {
    package var claim: Claim
    /// Whether PipeWire gave it all rights when it connected. Others get theirs from the session manager.
    package var isTrusted: Bool
    /// What a portal said when it connected for an app.
    package var portal: Portal?

    /// An app to which xdg-desktop-portal passes its connection.
    package struct Portal: Sendable, Equatable {
        /// A flatpak's ID, `snap.` and a snap's name, or empty for a program outside any sandbox.
        package let app: String
        /// Whether the portal has asked for the camera.
        package let isForCamera: Bool

        package init(app: String, isForCamera: Bool) {
            self.app = app
            self.isForCamera = isForCamera
        }

        package var owner: Owner {
            if app.isEmpty { return .unsandboxed }
            let snap = app.hasPrefix("snap.") ? AppID("snap:\(app.dropFirst(5))") : nil
            return (snap ?? AppID("flatpak:\(app)")).map(Owner.app) ?? .unknown
        }
    }

    package init(claim: Claim = Claim(), isTrusted: Bool = true, portal: Portal? = nil) {
        self.claim = claim
        self.isTrusted = isTrusted
        self.portal = portal
    }
}

/// What a client says it is. Anybody can say anything.
package struct Claim: Sendable, Equatable {
    /// The process, by the ID that it knows itself by.
    package var pid: Int32?
    /// The flatpak. pipewire-pulse says so of its clients, unless they do themselves.
    package var app: AppID?
    /// Whether a sound server has connected for a client of its own, which cannot deny that.
    package var isForClient: Bool

    package init(pid: Int32? = nil, app: AppID? = nil, isForClient: Bool = false) {
        self.pid = pid
        self.app = app
        self.isForClient = isForClient
    }
}

package struct Node: Sendable, Equatable {
    /// The client that made it; nil if it belongs to the PipeWire daemon, or outlives its maker.
    package var client: ObjectID?
    /// Whether it outlives the client that made it. PipeWire does not say which that was.
    package var outlivesMaker: Bool
    package var mediaClass: String
    package var name: String
    /// What a person knows it by.
    package var label: String
    /// Nodes with the same group are the ends of one filter.
    package var group: String?
    /// Whether a capture stream asks for what a sink plays.
    package var recordsSink: Bool
    /// Whether data flows, as far as PipeWire has said.
    package var isRunning: Bool
    /// Whether PipeWire has sent the node's properties: the registry has only some of them.
    package var isComplete: Bool

    package init(
        client: ObjectID?, outlivesMaker: Bool = false, mediaClass: String, name: String = "", label: String = "",
        group: String? = nil, recordsSink: Bool = false, isRunning: Bool = false, isComplete: Bool = true
    ) {
        self.client = outlivesMaker ? nil : client
        self.outlivesMaker = outlivesMaker
        self.mediaClass = mediaClass
        self.name = name
        self.label = label
        self.group = group
        self.recordsSink = recordsSink
        self.isRunning = isRunning
        self.isComplete = isComplete
    }
}

package struct Port: Sendable, Equatable {
    package let node: ObjectID
    package let isOutput: Bool

    package init(node: ObjectID, isOutput: Bool) {
        self.node = node
        self.isOutput = isOutput
    }
}

/// The two ends of a link.
package struct LinkEnds: Sendable, Hashable {
    package let outputNode: ObjectID
    package let outputPort: ObjectID
    package let inputNode: ObjectID
    package let inputPort: ObjectID

    package init(_ outputNode: ObjectID, _ outputPort: ObjectID, _ inputNode: ObjectID, _ inputPort: ObjectID) {
        self.outputNode = outputNode
        self.outputPort = outputPort
        self.inputNode = inputNode
        self.inputPort = inputPort
    }
}

package struct Link: Sendable, Equatable {
    package let ends: LinkEnds
    /// The client that made it; nil if the link outlives its maker.
    package let maker: ObjectID?

    package init(_ ends: LinkEnds, maker: ObjectID? = nil) {
        self.ends = ends
        self.maker = maker
    }
}

/// What has gone since the last step.
package struct Gone: Sendable, Equatable {
    /// Their IDs may be used again already.
    package fileprivate(set) var objects: Set<ObjectID> = []
    /// The links that have come as well, so that no step saw them.
    package fileprivate(set) var unseenLinks: [Link] = []

    package init() {}
}

package struct Graph: Sendable, Equatable {
    package private(set) var clients: [ObjectID: Client] = [:]
    package private(set) var nodes: [ObjectID: Node] = [:]
    package private(set) var ports: [ObjectID: Port] = [:]
    package private(set) var links: [ObjectID: Link] = [:]
    /// The links into each node.
    private(set) var linksInto: [ObjectID: Set<ObjectID>] = [:]
    private(set) var portsOf: [ObjectID: Set<ObjectID>] = [:]
    /// What has gone, and the links that have come, since the last ``takeGone()``.
    private var gone = Gone()
    private var newLinks: Set<ObjectID> = []

    package init() {}

    package mutating func set(_ id: ObjectID, _ client: Client) { clients[id] = client }

    package mutating func set(_ id: ObjectID, _ node: Node) { nodes[id] = node }

    package mutating func set(_ id: ObjectID, _ port: Port) {
        ports[id] = port
        portsOf[port.node, default: []].insert(id)
    }

    package mutating func set(_ id: ObjectID, _ link: Link) {
        links[id] = link
        newLinks.insert(id)
        linksInto[link.ends.inputNode, default: []].insert(id)
    }

    /// Whose rights count for what a node gets: its client's, or its own where it outlives its maker. Nil for nodes of the
    /// PipeWire daemon.
    package func holder(of node: ObjectID) -> ObjectID? {
        nodes[node].flatMap { $0.outlivesMaker ? node : $0.client }
    }

    /// Whether the object is a stream that plays, or one of its ports, or a link out of it.
    package func isPlaying(_ id: ObjectID) -> Bool {
        let node = ports[id]?.node ?? links[id]?.ends.outputNode ?? id
        return nodes[node]?.mediaClass.hasPrefix("Stream/Output") == true
    }

    package mutating func takeGone() -> Gone {
        defer { (gone, newLinks) = (Gone(), []) }
        return gone
    }

    package mutating func remove(_ id: ObjectID) {
        gone.objects.insert(id)
        clients[id] = nil
        nodes[id] = nil
        if let port = ports.removeValue(forKey: id) {
            portsOf[port.node]?.remove(id)
            if portsOf[port.node]?.isEmpty == true { portsOf[port.node] = nil }
        }
        if let link = links.removeValue(forKey: id) {
            if newLinks.remove(id) != nil { gone.unseenLinks.append(link) }
            let node = link.ends.inputNode
            linksInto[node]?.remove(id)
            if linksInto[node]?.isEmpty == true { linksInto[node] = nil }
        }
    }

    /// The links into a node, in a fixed order.
    package func links(into node: ObjectID) -> [(id: ObjectID, link: Link)] {
        (linksInto[node] ?? []).sorted().map { ($0, links[$0]!) }
    }

    /// The ports of a node in one direction, in a fixed order.
    package func ports(of node: ObjectID, isOutput: Bool) -> [ObjectID] {
        (portsOf[node] ?? []).filter { ports[$0]?.isOutput == isOutput }.sorted()
    }
}
