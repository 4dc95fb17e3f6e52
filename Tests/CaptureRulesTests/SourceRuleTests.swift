// Which nodes are sources, and which record.

import CaptureRules
import PermissionModel
import Testing

@Suite
struct SourceRuleTests {
    /// A graph of nodes, by number, with links between them; the ports of node n are n * 10.
    static func graph(_ nodes: [ObjectID: Node], _ links: [(ObjectID, ObjectID)] = []) -> Graph {
        var graph = Graph()
        for (id, node) in nodes {
            graph.set(id, node)
            graph.set(id * 10, Port(node: id, isOutput: true))
            graph.set(id * 10 + 1, Port(node: id, isOutput: false))
        }
        for (number, link) in links.enumerated() {
            graph.set(
                ObjectID(1000 + number), Link(LinkEnds(link.0, link.0 * 10, link.1, link.1 * 10 + 1), maker: 1))
        }
        return graph
    }

    private static func node(
        _ mediaClass: String, client: ObjectID? = nil, group: String? = nil, recordsSink: Bool = false
    ) -> Node {
        Node(client: client, mediaClass: mediaClass, group: group, recordsSink: recordsSink)
    }

    private static let microphone = node("Audio/Source")
    private static let filter = [
        ObjectID(2): node("Stream/Input/Audio", group: "filter"), 3: node("Audio/Source", group: "filter"),
    ]

    @Test(
        arguments: [
            ("Audio/Source", Permission.microphone), ("Audio/Source/Virtual", .microphone),
            ("Audio/Duplex", .microphone),
            ("Video/Source", .camera), ("Audio/Sink", nil), ("Stream/Output/Audio", nil), ("Midi/Bridge", nil),
        ] as [(String, Permission?)])
    func classes(_ mediaClass: String, _ permission: Permission?) {
        let graph = SourceRuleTests.graph([1: SourceRuleTests.node(mediaClass)])
        #expect(Sources(of: graph).permissions[1] == permission)
        #expect(Sources(of: graph, silence: 1).permissions == [:])
    }

    @Test func aFilterIsWhatItGets() {
        var nodes = SourceRuleTests.filter
        // Without an input it may get a microphone at any moment.
        #expect(Sources(of: SourceRuleTests.graph(nodes)).permissions[3] == .microphone)
        nodes[1] = SourceRuleTests.microphone
        #expect(Sources(of: SourceRuleTests.graph(nodes, [(1, 2)])).permissions[3] == .microphone)
        nodes[1] = SourceRuleTests.node("Audio/Sink")
        let music = SourceRuleTests.graph(nodes, [(1, 2)])
        #expect(Sources(of: music).permissions == [:])
        #expect(Sources(of: music).plain(in: music) == [3])
        nodes[4] = SourceRuleTests.microphone
        #expect(Sources(of: SourceRuleTests.graph(nodes, [(1, 2), (4, 2)])).permissions[3] == .microphone)
    }

    /// A microphone that is played into the speakers can be recorded there.
    @Test func whatTheSpeakersPlayMayBeAMicrophone() {
        let nodes: [ObjectID: Node] = [
            1: SourceRuleTests.microphone, 2: SourceRuleTests.node("Stream/Input/Audio", group: "loop"),
            3: SourceRuleTests.node("Stream/Output/Audio", group: "loop"), 4: SourceRuleTests.node("Audio/Sink"),
        ]
        #expect(Sources(of: SourceRuleTests.graph(nodes, [(3, 4)])).permissions[4] == nil)
        #expect(Sources(of: SourceRuleTests.graph(nodes, [(1, 2), (3, 4)])).permissions[4] == .microphone)
    }

    @Test func circlesAndLongChainsEnd() {
        var nodes: [ObjectID: Node] = [:]
        var links: [(ObjectID, ObjectID)] = []
        for id in ObjectID(1)...60 {
            nodes[id] = SourceRuleTests.node("Audio/Sink")
            links.append((id, id % 60 + 1))
        }
        _ = Sources(of: SourceRuleTests.graph(nodes, links))
        nodes[61] = SourceRuleTests.microphone
        links.append((61, 30))
        let all = Sources(of: SourceRuleTests.graph(nodes, links)).permissions
        #expect((1...61).allSatisfy { all[$0] == .microphone })
        nodes[1] = SourceRuleTests.microphone
        links.removeLast(2)
        let permissions = Sources(of: SourceRuleTests.graph(nodes, links)).permissions
        #expect((1...60).allSatisfy { permissions[$0] == .microphone })
    }

    @Test func recorders() {
        let nodes: [ObjectID: Node] = [
            1: SourceRuleTests.microphone, 2: SourceRuleTests.node("Stream/Input/Audio", client: 7),
            3: SourceRuleTests.node("Stream/Input/Audio", client: 7, recordsSink: true),
            4: SourceRuleTests.node("Audio/Sink"), 5: SourceRuleTests.node("Stream/Input/Video", client: 8),
            6: SourceRuleTests.node("Something/Else", client: 9), 9: SourceRuleTests.node("Stream/Input/Audio"),
        ]
        func found(_ links: [(ObjectID, ObjectID)], silence: ObjectID? = nil) -> [Recorder] {
            let graph = SourceRuleTests.graph(nodes, links)
            return graph.recorders(Sources(of: graph, silence: silence), silence: silence)
        }
        let waiting = Recorder(node: 5, holder: 8, permission: .camera, sources: [])
        #expect(found([]) == [Recorder(node: 2, holder: 7, permission: .microphone, sources: []), waiting])
        // Whatever is linked to a source records, whatever it says it is; a stream of the daemon is a filter.
        #expect(
            found([(1, 2), (1, 3), (1, 6), (1, 9)]) == [
                Recorder(node: 2, holder: 7, permission: .microphone, sources: [1]),
                Recorder(node: 3, holder: 7, permission: .microphone, sources: [1]), waiting,
                Recorder(node: 6, holder: 9, permission: .microphone, sources: [1]),
            ])
        // One that is linked to something else does not wait, unless that is silence.
        #expect(found([(4, 2)]) == [waiting])
        #expect(found([(4, 2)], silence: 4).count == 2)
    }

    /// Whatever client it says to have, a node that outlives its maker is a holder of its own.
    @Test func nodesThatOutliveTheirMakers() {
        let graph = SourceRuleTests.graph(
            [
                1: SourceRuleTests.microphone,
                2: Node(client: 7, outlivesMaker: true, mediaClass: "Stream/Input/Audio"),
                3: Node(client: nil, outlivesMaker: true, mediaClass: "Audio/Sink"),
            ], [(1, 3)])
        #expect(
            graph.recorders(Sources(of: graph)) == [
                Recorder(node: 2, holder: 2, permission: .microphone, sources: []),
                Recorder(node: 3, holder: 3, permission: .microphone, sources: [1]),
            ])
    }

    /// What a stream that plays consists of concerns nobody who records; a link into a recorder does.
    @Test func streamsThatPlay() {
        var graph = SourceRuleTests.graph([
            3: Node(client: 7, mediaClass: "Stream/Output/Audio"), 4: Node(client: nil, mediaClass: "Audio/Sink"),
            5: Node(client: nil, mediaClass: "Audio/Source"), 6: Node(client: 7, mediaClass: "Stream/Input/Audio"),
        ])
        graph.set(30, Port(node: 3, isOutput: true))
        graph.set(60, Port(node: 6, isOutput: false))
        graph.set(70, Link(LinkEnds(3, 30, 4, 40), maker: 1))
        graph.set(71, Link(LinkEnds(5, 50, 6, 60), maker: 1))
        #expect([3, 30, 70].allSatisfy(graph.isPlaying))
        #expect(![4, 5, 6, 60, 71, 99].contains(where: graph.isPlaying))
        graph.remove(70)
        #expect(!graph.isPlaying(70))
    }
}
