// A source of silence for streams that wait. A sound server's clients give up a stream that gets no data for some 25
// seconds; with silence, they live until the person has answered.

import CPipeWire
import CaptureRules
import DBus
import Glibc

@LoopActor
final class SilentSource {
    /// A class that sound servers accept as the other end of a recording.
    private static let properties = """
        factory.name = support.null-audio-sink node.name = permd.silence node.description = Silence
        media.class = Audio/Source/Virtual priority.session = 0 priority.driver = 0 audio.position = [ MONO ]
        """
    /// For session managers without our configuration, which have to leave the node alone.
    private static let unmanaged = """
        wireplumber.is-endpoint = true wireplumber.is-virtual = true
        adapter.auto-port-config = { mode = dsp monitor = true position = preserve }
        """

    /// Milliseconds that a stream has to wait before it gets silence. Who may record is linked sooner, and would have to
    /// be linked anew.
    private static let delay: Int64 = 500

    /// The source, once PipeWire has made it.
    var node: ObjectID? { source?.id }
    private var port: ObjectID?
    private var source: CreatedObject?
    private var links: [ObjectID: [CreatedObject]] = [:]
    /// Streams that get it when it is there.
    private var waiting: [ObjectID: [ObjectID]] = [:]
    private var delays: [ObjectID: LoopTimer] = [:]
    private weak var connection: PipeWireConnection?
    /// Streams that the session manager links to the source.
    private(set) var managed: Set<ObjectID> = []
    private let onManaged: @LoopActor () -> Void

    /// - Parameter onManaged: Called when ``managed`` has changed by itself.
    init(onManaged: @escaping @LoopActor () -> Void) { self.onManaged = onManaged }

    /// Gives the stream silence if it still waits after a moment.
    ///
    /// - Parameter isManaged: Whether the session manager links the stream.
    func give(to stream: ObjectID, _ ports: [ObjectID], isManaged: Bool, _ connection: PipeWireConnection) {
        self.connection = connection
        delays[stream]?.cancel()
        delays[stream] = Loop.shared.after(milliseconds: SilentSource.delay) { [weak self] in
            self?.begin(stream, ports, isManaged: isManaged)
        }
    }

    private func begin(_ stream: ObjectID, _ ports: [ObjectID], isManaged: Bool) {
        delays[stream] = nil
        guard let connection else { return }
        if isManaged { managed.insert(stream) } else { waiting[stream] = ports }
        if source == nil {
            let properties = SilentSource.properties + (isManaged ? "" : SilentSource.unmanaged)
            source = connection.create("adapter", "PipeWire:Interface:Node", version: CPIPEWIRE_NODE, properties)
        }
        link()
        connection.flush()
        if isManaged { onManaged() }
    }

    func end(of stream: ObjectID) {
        delays.removeValue(forKey: stream)?.cancel()
        guard waiting[stream] != nil || links[stream] != nil || managed.contains(stream) else { return }
        waiting[stream] = nil
        managed.remove(stream)
        for link in links.removeValue(forKey: stream) ?? [] { link.release() }
        guard links.isEmpty, waiting.isEmpty, managed.isEmpty else { return }
        // Without listeners it would keep a clock running.
        source?.release()
        source = nil
        port = nil
    }

    /// PipeWire has gone, and all of this with it.
    func reset() {
        for delay in delays.values { delay.cancel() }
        delays = [:]
        source = nil
        port = nil
        links = [:]
        waiting = [:]
        managed = []
    }

    private func link() {
        guard let node, let port, let connection else { return }
        for (stream, ports) in waiting {
            links[stream] = ports.compactMap { connection.link(LinkEnds(node, port, stream, $0), lingers: false) }
        }
        waiting = [:]
    }

    func added(_ id: UInt32, _ kind: ObjectKind, _ properties: Properties) {
        guard kind == .port, let node, properties.number("node.id") == node, properties["port.direction"] == "out"
        else {
            return
        }
        port = id
        link()
    }

    /// Returns true if it was the source.
    func removed(_ id: UInt32) -> Bool {
        guard id == node else { return false }
        source?.release()
        for link in links.values.joined() { link.release() }
        reset()
        return true
    }
}

extension PipeWireConnection {
    /// Makes a link that stays without this program.
    func join(_ ends: LinkEnds) { link(ends, lingers: true)?.release() }

    func link(_ ends: LinkEnds, lingers: Bool) -> CreatedObject? {
        let properties = """
            link.output.node = \(ends.outputNode) link.output.port = \(ends.outputPort)
            link.input.node = \(ends.inputNode) link.input.port = \(ends.inputPort) object.linger = \(lingers)
            """
        return create("link-factory", "PipeWire:Interface:Link", version: CPIPEWIRE_LINK, properties)
    }
}
