// What is done so that exactly those who may record do.

import CaptureRules
import PermissionModel
import Testing

@Suite
struct EnforcementTests {
    private static let linker: ObjectID = 1
    private static let client: ObjectID = 7
    private static let ends = LinkEnds(3, 30, 4, 41)

    /// A session manager, a microphone (3) and a stream (4) of the client.
    private struct Case {
        var graph = SourceRuleTests.graph([
            3: Node(client: nil, mediaClass: "Audio/Source"),
            4: Node(client: EnforcementTests.client, mediaClass: "Stream/Input/Audio"),
        ])
        var enforcement = Enforcement()
        var right = RecordingRight.refused
        var isRelayed = false
        var canRelink = false
        var isConfined = false

        init() {
            graph.set(EnforcementTests.linker, Client())
            graph.set(EnforcementTests.client, Client())
        }

        mutating func step() -> [Effect] {
            let gone = graph.takeGone()
            let sources = Sources(of: graph)
            let policy = ClientPolicy(
                rights: [.microphone: right, .camera: right], needsSilence: isRelayed, isConfined: isConfined)
            return enforcement.step(
                graph, gone: gone, sources, graph.recorders(sources),
                policies: [
                    EnforcementTests.client: policy,
                    EnforcementTests.linker: ClientPolicy(rights: [.microphone: .allowed, .camera: .allowed]),
                ],
                reserved: [50], canRelink: canRelink, isLinker: { $0 == EnforcementTests.linker })
        }

        mutating func link(_ id: ObjectID = 100, maker: ObjectID? = EnforcementTests.linker) {
            graph.set(id, Link(EnforcementTests.ends, maker: maker))
        }
    }

    private static let forbid = Effect.forbid(client: client, objects: [3, 30])
    private static let permit = Effect.permit(client: client, objects: [3, 30])
    private static let bypass = Effect.reportBypass(holder: client, node: 4, permission: .microphone)

    @Test func rightsAreTakenOnceAndGivenBack() {
        var it = Case()
        #expect(it.step() == [EnforcementTests.forbid])
        #expect(it.step() == [])
        it.right = .allowed
        #expect(it.step() == [EnforcementTests.permit, .relink([4])])
        #expect(it.step() == [])
    }

    /// What permd depends on is nothing for a sandboxed client, also if it may record.
    @Test func aConfinedClientDoesNotReachPermd() {
        var it = Case()
        it.isConfined = true
        #expect(it.step() == [.forbid(client: EnforcementTests.client, objects: [3, 30, 50])])
        it.right = .allowed
        #expect(it.step() == [EnforcementTests.permit, .relink([4])])
    }

    /// A node that outlives its maker has no rights that could be taken.
    @Test func aNodeThatOutlivesItsMakerIsCut() {
        var graph = SourceRuleTests.graph([
            3: Node(client: nil, mediaClass: "Audio/Source"),
            4: Node(client: EnforcementTests.client, outlivesMaker: true, mediaClass: "Audio/Sink"),
        ])
        graph.set(100, Link(EnforcementTests.ends, maker: EnforcementTests.linker))
        let sources = Sources(of: graph)
        var enforcement = Enforcement()
        let effects = enforcement.step(
            graph, gone: [], sources, graph.recorders(sources),
            policies: [4: ClientPolicy(rights: [.microphone: .refused])], canRelink: true, isLinker: { _ in true })
        #expect(effects == [.cut(link: 100)])
    }

    /// The session manager may have taken rights as well, of a client that was always allowed or that lost them before.
    @Test func unsureRightsAreSetAgain() {
        var it = Case()
        it.right = .allowed
        #expect(it.step() == [])
        it.enforcement.rightsAreUnsure(of: EnforcementTests.client)
        #expect(it.step() == [EnforcementTests.permit])
        #expect(it.step() == [])
        it.right = .refused
        #expect(it.step() == [EnforcementTests.forbid])
        it.enforcement.rightsAreUnsure(of: EnforcementTests.client)
        #expect(it.step() == [EnforcementTests.forbid])
        // It is not about another client that gets the ID.
        it.enforcement.rightsAreUnsure(of: EnforcementTests.client)
        it.graph.remove(EnforcementTests.client)
        it.graph.set(EnforcementTests.client, Client())
        it.right = .allowed
        #expect(it.step() == [.relink([4])])
    }

    /// A client that has the ID of one that has just gone is another.
    @Test func newClientsWithOldNumbersHaveNoRights() {
        var it = Case()
        _ = it.step()
        it.graph.remove(EnforcementTests.client)
        it.graph.set(EnforcementTests.client, Client())
        #expect(it.step() == [EnforcementTests.forbid])
        it.graph.remove(3)
        it.graph.set(3, Node(client: nil, mediaClass: "Audio/Source"))
        #expect(it.step() == [.forbid(client: EnforcementTests.client, objects: [3])])
    }

    @Test func linksAreCutAndMadeAgain() {
        var it = Case()
        _ = it.step()
        it.link()
        #expect(it.step() == [.cut(link: 100)])
        #expect(it.step() == [])
        // The number is used again at once.
        it.graph.remove(100)
        it.link()
        #expect(it.step() == [.cut(link: 100)])
        it.graph.remove(100)
        it.right = .allowed
        #expect(it.step() == [EnforcementTests.permit, .join(EnforcementTests.ends)])
        // Our own link is no bypass when the grant is taken back.
        it.link(101, maker: nil)
        #expect(it.step() == [])
        it.right = .refused
        #expect(it.step() == [EnforcementTests.forbid, .cut(link: 101)])
    }

    /// A grant can come before PipeWire has removed the link.
    @Test func allowedWhileItsLinkIsCut() {
        var it = Case()
        _ = it.step()
        it.link()
        #expect(it.step() == [.cut(link: 100)])
        it.right = .allowed
        #expect(it.step() == [EnforcementTests.permit])
        it.graph.remove(100)
        #expect(it.step() == [.join(EnforcementTests.ends)])

        it.canRelink = true
        it.right = .refused
        it.link(101)
        #expect(it.step() == [EnforcementTests.forbid, .cut(link: 101)])
        it.right = .allowed
        #expect(it.step() == [EnforcementTests.permit])
        it.graph.remove(101)
        #expect(it.step() == [.relink([4])])
    }

    @Test(arguments: [EnforcementTests.client, nil] as [ObjectID?])
    func linksPastUsAreTold(_ maker: ObjectID?) {
        var it = Case()
        // One that was there before us is cut, but it may be older than the refusal.
        it.link(99, maker: maker)
        #expect(it.step() == [EnforcementTests.forbid, .cut(link: 99)])
        it.graph.remove(99)
        it.link(100, maker: maker)
        #expect(it.step() == [.cut(link: 100), EnforcementTests.bypass])
        // It is not made again.
        it.graph.remove(100)
        it.canRelink = true
        it.right = .allowed
        #expect(it.step().contains(EnforcementTests.permit))
    }

    @Test func aRevokedLinkIsNoBypass() {
        var it = Case()
        it.right = .allowed
        _ = it.step()
        it.link(100, maker: EnforcementTests.client)
        #expect(it.step() == [])
        it.right = .refused
        #expect(it.step() == [EnforcementTests.forbid, .cut(link: 100)])
    }

    @Test func silenceWhileItWaits() {
        var it = Case()
        it.isRelayed = true
        #expect(it.step() == [EnforcementTests.forbid, .silence(node: 4, ports: [41])])
        #expect(it.step() == [])
        it.right = .undecided
        #expect(it.step() == [])
        it.right = .allowed
        #expect(it.step() == [EnforcementTests.permit, .endSilence(node: 4), .relink([4])])
        it.right = .refused
        #expect(it.step() == [EnforcementTests.forbid, .silence(node: 4, ports: [41])])
        it.enforcement.forgetSilence()
        #expect(it.step() == [.silence(node: 4, ports: [41])])
    }
}
