// What PipeWire has: clients, nodes, ports and links, as values.

public import PermissionModel

/// The ID of an object of PipeWire. It is used again after the object has gone.
public typealias ObjectID = UInt32

/// A connection to PipeWire.
public struct Client: Sendable, Equatable {
    /// The process that connected, according to the kernel.
    public var process: Int32?
    public var claim: Claim
    /// Whether PipeWire gave it all rights when it connected. Others get theirs from the session manager.
    public var isTrusted: Bool

    public init(process: Int32?, claim: Claim = Claim(), isTrusted: Bool = true) {
        self.process = process
        self.claim = claim
        self.isTrusted = isTrusted
    }
}

/// What a client says it is. Anybody can say anything.
public struct Claim: Sendable, Equatable {
    /// The process, by the ID that it knows itself by.
    public var pid: Int32?
    /// The flatpak. pipewire-pulse says so of its clients, unless they do themselves.
    public var app: AppID?

    public init(pid: Int32? = nil, app: AppID? = nil) {
        self.pid = pid
        self.app = app
    }
}

public struct Node: Sendable, Equatable {
    /// The client that made it; nil if it belongs to the PipeWire daemon.
    public var client: ObjectID?
    public var mediaClass: String
    public var name: String
    /// What a person knows it by.
    public var label: String
    /// Nodes with the same group are the ends of one filter.
    public var group: String?
    /// Whether a capture stream asks for what a sink plays.
    public var recordsSink: Bool
    /// Whether data flows, as far as PipeWire has said.
    public var isRunning: Bool
    /// Whether PipeWire has sent the node's properties: the registry has only some of them.
    public var isComplete: Bool

    public init(
        client: ObjectID?, mediaClass: String, name: String = "", label: String = "", group: String? = nil,
        recordsSink: Bool = false, isRunning: Bool = false, isComplete: Bool = true
    ) {
        self.client = client
        self.mediaClass = mediaClass
        self.name = name
        self.label = label
        self.group = group
        self.recordsSink = recordsSink
        self.isRunning = isRunning
        self.isComplete = isComplete
    }
}

public struct Port: Sendable, Equatable {
    public let node: ObjectID
    public let isOutput: Bool

    public init(node: ObjectID, isOutput: Bool) {
        self.node = node
        self.isOutput = isOutput
    }
}

/// The two ends of a link.
public struct LinkEnds: Sendable, Hashable {
    public let outputNode: ObjectID
    public let outputPort: ObjectID
    public let inputNode: ObjectID
    public let inputPort: ObjectID

    public init(_ outputNode: ObjectID, _ outputPort: ObjectID, _ inputNode: ObjectID, _ inputPort: ObjectID) {
        self.outputNode = outputNode
        self.outputPort = outputPort
        self.inputNode = inputNode
        self.inputPort = inputPort
    }
}

public struct Link: Sendable, Equatable {
    public let ends: LinkEnds
    /// The client that made it; nil if the link outlives its maker.
    public let maker: ObjectID?

    public init(_ ends: LinkEnds, maker: ObjectID? = nil) {
        self.ends = ends
        self.maker = maker
    }
}

public struct Graph: Sendable, Equatable {
    public private(set) var clients: [ObjectID: Client] = [:]
    public private(set) var nodes: [ObjectID: Node] = [:]
    public private(set) var ports: [ObjectID: Port] = [:]
    public private(set) var links: [ObjectID: Link] = [:]
    /// The links into each node.
    private(set) var linksInto: [ObjectID: Set<ObjectID>] = [:]
    private(set) var portsOf: [ObjectID: Set<ObjectID>] = [:]
    /// The objects that have gone since the last ``takeGone()``. Their IDs may be used again already.
    private var gone: Set<ObjectID> = []

    public init() {}

    public mutating func set(_ id: ObjectID, _ client: Client) { clients[id] = client }

    public mutating func set(_ id: ObjectID, _ node: Node) { nodes[id] = node }

    public mutating func set(_ id: ObjectID, _ port: Port) {
        ports[id] = port
        portsOf[port.node, default: []].insert(id)
    }

    public mutating func set(_ id: ObjectID, _ link: Link) {
        links[id] = link
        linksInto[link.ends.inputNode, default: []].insert(id)
    }

    /// Whether the object is a stream that plays, or one of its ports, or a link out of it.
    public func isPlaying(_ id: ObjectID) -> Bool {
        let node = ports[id]?.node ?? links[id]?.ends.outputNode ?? id
        return nodes[node]?.mediaClass.hasPrefix("Stream/Output") == true
    }

    public mutating func takeGone() -> Set<ObjectID> {
        defer { gone = [] }
        return gone
    }

    public mutating func remove(_ id: ObjectID) {
        gone.insert(id)
        clients[id] = nil
        nodes[id] = nil
        if let port = ports.removeValue(forKey: id) {
            portsOf[port.node]?.remove(id)
            if portsOf[port.node]?.isEmpty == true { portsOf[port.node] = nil }
        }
        if let link = links.removeValue(forKey: id) {
            let node = link.ends.inputNode
            linksInto[node]?.remove(id)
            if linksInto[node]?.isEmpty == true { linksInto[node] = nil }
        }
    }

    /// The links into a node, in a fixed order.
    public func links(into node: ObjectID) -> [(id: ObjectID, link: Link)] {
        (linksInto[node] ?? []).sorted().map { ($0, links[$0]!) }
    }

    /// The ports of a node in one direction, in a fixed order.
    public func ports(of node: ObjectID, isOutput: Bool) -> [ObjectID] {
        (portsOf[node] ?? []).filter { ports[$0]?.isOutput == isOutput }.sorted()
    }
}
