// Builds the graph from what PipeWire says.

import CaptureRules
import DBus
import Glibc
import PermissionModel

@LoopActor
final class GraphMirror {
    private(set) var graph = Graph()
    /// What rights.lua hides no sources from.
    private static let trusted: Set<String?> = ["unrestricted", "allowed"]

    /// What the session manager has made, by the names of their objects.
    private var metadata: [UInt32: String] = [:]
    /// The name of the default microphone.
    private(set) var defaultSource = ""
    /// The serial numbers of all objects but clients that were there at the beginning; nil after that.
    private var serials: Set<UInt64>? = []

    func metadata(named name: String) -> UInt32? { metadata.first { $0.value == name }?.key }

    func add(_ id: UInt32, _ kind: ObjectKind, _ properties: Properties) {
        if serials != nil, kind != .client, let serial = properties["object.serial"].flatMap({ UInt64($0) }) {
            serials?.insert(serial)
        }
        switch kind {
        case .client, .node, .metadata, .other: break
        case .port:
            guard let node = properties.number("node.id") else { return }
            graph.set(id, Port(node: node, isOutput: properties["port.direction"] == "out"))
        case .link:
            guard let outputNode = properties.number("link.output.node"),
                let outputPort = properties.number("link.output.port"),
                let inputNode = properties.number("link.input.node"),
                let inputPort = properties.number("link.input.port")
            else { return }
            let ends = LinkEnds(outputNode, outputPort, inputNode, inputPort)
            graph.set(id, Link(ends, maker: properties.number("client.id")))
        }
        if kind == .node { setNode(id, properties, isRunning: false, isComplete: false) }
    }

    /// The first serial number of an object that is not of PipeWire's configuration, once the properties of all are known.
    func takeEndOfConfiguration(_ serial: (ObjectID) -> UInt64?) -> UInt64 {
        defer { serials = nil }
        let own = graph.nodes.filter { $0.value.isComplete && $0.value.client == nil && !$0.value.outlivesMaker }.keys
        return MakerRule.endOfConfiguration(serials ?? [], own: own.compactMap(serial))
    }

    func takeGone() -> Gone { graph.takeGone() }

    func remove(_ id: UInt32) {
        metadata[id] = nil
        graph.remove(id)
    }

    func setClient(_ id: UInt32, _ properties: Properties) -> Client {
        let client = Client(
            claim: Claim(
                pid: properties["application.process.id"].flatMap { Int32($0) },
                app: properties["pipewire.access.portal.app_id"].flatMap { AppID("flatpak:\($0)") },
                isForClient: properties["pulse.server.type"] != nil),
            isTrusted: GraphMirror.trusted.contains(properties["pipewire.access"]),
            portal: GraphMirror.portal(properties))
        graph.set(id, client)
        return client
    }

    /// What xdg-desktop-portal, or anybody, says of the app it connects for. Version 23 renames the properties.
    private static func portal(_ properties: Properties) -> Client.Portal? {
        for prefix in ["pipewire.access.portal", "xdg-desktop-portal"] {
            guard let app = properties["\(prefix).app_id"] else { continue }
            let roles = properties["\(prefix).media_roles"] ?? ""
            return Client.Portal(app: app, isForCamera: roles.split(separator: ",").contains("Camera"))
        }
        return nil
    }

    /// The properties may be left out if only the state changed.
    func setNode(_ id: UInt32, _ properties: Properties?, isRunning: Bool, isComplete: Bool = true) {
        guard let properties else {
            guard var node = graph.nodes[id] else { return }
            node.isRunning = isRunning
            graph.set(id, node)
            return
        }
        let name = properties["node.name"] ?? ""
        let node = Node(
            // Only the registry says whose a node is, and that cannot change. One that outlives its maker may claim any
            // client.
            client: isComplete ? graph.nodes[id]?.client : properties.number("client.id"),
            outlivesMaker: ["true", "1"].contains(properties["object.linger"]),
            mediaClass: properties["media.class"] ?? "", name: name,
            label: properties["node.description"] ?? name, group: properties["node.link-group"],
            recordsSink: GraphMirror.recordsSink(properties), isRunning: isRunning, isComplete: isComplete)
        graph.set(id, node)
    }

    /// Whether a stream records what a sink plays. The PulseAudio server of PipeWire from 1.6.7 to 1.7 says so, too, of one that
    /// names no source and sees none, for which permd's script of the session manager finds the microphone.
    private static func recordsSink(_ properties: Properties) -> Bool {
        let isDefault = properties["client.api"] == "pipewire-pulse" && properties["target.object"] == nil
        return properties["stream.capture.sink"] == "true" && !isDefault
    }

    func addMetadata(_ id: UInt32, named name: String) { metadata[id] = name }

    func setMetadata(_ id: UInt32, _ subject: UInt32, _ key: String?, _ value: String?) {
        guard metadata[id] == "default", subject == 0, key == nil || key == "default.audio.source" else { return }
        defaultSource = value.flatMap(GraphMirror.name) ?? ""
    }

    /// The value is a JSON object with one name.
    private static func name(in value: String) -> String? {
        let parts = value.split(separator: "\"", omittingEmptySubsequences: false)
        guard let key = parts.firstIndex(of: "name"), key + 2 < parts.count else { return nil }
        return String(parts[key + 2])
    }

    /// What the prompt calls the device that a recorder uses, or would.
    func deviceName(_ recorder: Recorder, _ sources: Sources) -> String {
        let all = sources.permissions.filter { $0.value == recorder.permission }.keys.sorted()
        let used = recorder.sources.first ?? all.first { graph.nodes[$0]?.name == defaultSource } ?? all.first
        return used.flatMap { graph.nodes[$0]?.label } ?? ""
    }
}
