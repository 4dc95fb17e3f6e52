// What is done so that exactly those who may record do.

import CaptureRules
import PermissionModel
import Testing

@Suite
struct CapturePlanTests {
    private static let linker: ObjectID = 1
    private static let client: ObjectID = 7
    private static let ends = LinkEnds(3, 30, 4, 41)

    /// A session manager, a microphone (3) and a stream (4) of the client.
    private struct Case {
        var graph = SourceRuleTests.graph([
            3: Node(client: nil, mediaClass: "Audio/Source"),
            4: Node(client: CapturePlanTests.client, mediaClass: "Stream/Input/Audio"),
        ])
        var plan = CapturePlan()
        var right = Access.refused
        var isRelayed = false
        var canRelink = false
        var isConfined = false

        init() {
            graph.set(CapturePlanTests.linker, Client())
            graph.set(CapturePlanTests.client, Client())
        }

        mutating func step() -> [Effect] {
            let gone = graph.takeGone()
            let sources = Sources(of: graph)
            let policy = ClientPolicy(
                rights: [.microphone: right, .camera: right], needsSilence: isRelayed, isConfined: isConfined)
            return plan.step(
                graph, gone: gone, sources, graph.recorders(sources),
                policies: [
                    CapturePlanTests.client: policy,
                    CapturePlanTests.linker: ClientPolicy(rights: [.microphone: .allowed, .camera: .allowed]),
                ],
                reserved: [50], canRelink: canRelink, isLinker: { $0 == CapturePlanTests.linker })
        }

        mutating func link(_ id: ObjectID = 100, maker: ObjectID? = CapturePlanTests.linker) {
            graph.set(id, Link(CapturePlanTests.ends, maker: maker))
        }
    }

    private static let forbid = Effect.forbid(client: client, objects: [3, 30])
    private static let permit = Effect.permit(client: client, objects: [3, 30])
    private static let bypass = Effect.reportBypass(holder: client, node: 4, permission: .microphone)

    @Test func rightsAreTakenOnceAndGivenBack() {
        var it = Case()
        #expect(it.step() == [CapturePlanTests.forbid])
        #expect(it.step() == [])
        it.right = .allowed
        #expect(it.step() == [CapturePlanTests.permit, .relink([4])])
        #expect(it.step() == [])
    }

    /// The session manager may have tried in vain to link a stream before permd saw it.
    @Test(arguments: [false, true])
    func aStreamThatIsNewHere(_ isGrantedBefore: Bool) {
        var it = Case()
        it.graph.remove(4)
        #expect(it.step() == [CapturePlanTests.forbid])
        it.right = .allowed
        if isGrantedBefore { #expect(it.step() == [CapturePlanTests.permit]) }
        it.graph.set(4, Node(client: CapturePlanTests.client, mediaClass: "Stream/Input/Audio"))
        #expect(it.step() == (isGrantedBefore ? [.relink([4])] : [CapturePlanTests.permit, .relink([4])]))
        #expect(it.step() == [])
    }

    /// What permd depends on is nothing for a sandboxed client, also if it may record.
    @Test func aConfinedClientDoesNotReachPermd() {
        var it = Case()
        it.isConfined = true
        #expect(it.step() == [.forbid(client: CapturePlanTests.client, objects: [3, 30, 50])])
        it.right = .allowed
        #expect(it.step() == [CapturePlanTests.permit, .relink([4])])
    }

    /// A node that outlives its maker has no rights that could be taken.
    @Test func aNodeThatOutlivesItsMakerIsCut() {
        var graph = SourceRuleTests.graph([
            3: Node(client: nil, mediaClass: "Audio/Source"),
            4: Node(client: CapturePlanTests.client, outlivesMaker: true, mediaClass: "Audio/Sink"),
        ])
        graph.set(100, Link(CapturePlanTests.ends, maker: CapturePlanTests.linker))
        let sources = Sources(of: graph)
        var plan = CapturePlan()
        let effects = plan.step(
            graph, gone: Gone(), sources, graph.recorders(sources),
            policies: [4: ClientPolicy(rights: [.microphone: .refused])], canRelink: true, isLinker: { _ in true })
        #expect(effects == [.cut(link: 100)])
    }

    /// The session manager may have taken rights as well, of a client that was always allowed or that lost them before.
    @Test func unsureRightsAreSetAgain() {
        var it = Case()
        it.right = .allowed
        #expect(it.step() == [.relink([4])])
        it.plan.rightsAreUnsure(of: CapturePlanTests.client)
        #expect(it.step() == [CapturePlanTests.permit])
        #expect(it.step() == [])
        it.right = .refused
        #expect(it.step() == [CapturePlanTests.forbid])
        it.plan.rightsAreUnsure(of: CapturePlanTests.client)
        #expect(it.step() == [CapturePlanTests.forbid])
        // It is not about another client that gets the ID.
        it.plan.rightsAreUnsure(of: CapturePlanTests.client)
        it.graph.remove(CapturePlanTests.client)
        it.graph.set(CapturePlanTests.client, Client())
        it.right = .allowed
        #expect(it.step() == [.relink([4])])
    }

    /// A client that has the ID of one that has just gone is another.
    @Test func newClientsWithOldNumbersHaveNoRights() {
        var it = Case()
        _ = it.step()
        it.graph.remove(CapturePlanTests.client)
        it.graph.set(CapturePlanTests.client, Client())
        #expect(it.step() == [CapturePlanTests.forbid])
        it.graph.remove(3)
        it.graph.set(3, Node(client: nil, mediaClass: "Audio/Source"))
        #expect(it.step() == [.forbid(client: CapturePlanTests.client, objects: [3])])
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
        #expect(it.step() == [CapturePlanTests.permit, .join(CapturePlanTests.ends)])
        // Our own link is no bypass when the grant is taken back.
        it.link(101, maker: nil)
        #expect(it.step() == [])
        it.right = .refused
        #expect(it.step() == [CapturePlanTests.forbid, .cut(link: 101)])
    }

    /// PipeWire removes a link when a client loses its rights, perhaps before it was seen; the session manager takes it for
    /// one that is there.
    @Test(arguments: [false, true])
    func aLinkThatNoStepSaw(_ isGrantedBefore: Bool) {
        var it = Case()
        #expect(it.step() == [CapturePlanTests.forbid])
        it.right = isGrantedBefore ? .allowed : .refused
        #expect(it.step() == (isGrantedBefore ? [CapturePlanTests.permit, .relink([4])] : []))
        // What is known of the node is not complete yet.
        it.graph.set(4, Node(client: CapturePlanTests.client, mediaClass: "Stream/Input/Audio", isComplete: false))
        it.link()
        it.graph.remove(100)
        #expect(it.step() == [])
        it.graph.set(4, Node(client: CapturePlanTests.client, mediaClass: "Stream/Input/Audio"))
        it.right = .allowed
        let again = Effect.join(CapturePlanTests.ends)
        #expect(it.step() == (isGrantedBefore ? [again] : [CapturePlanTests.permit, again]))
        // One that its client has made itself is not made again.
        it.link(maker: CapturePlanTests.client)
        it.graph.remove(100)
        #expect(it.step() == [])
    }

    /// A grant can come before PipeWire has removed the link.
    @Test func allowedWhileItsLinkIsCut() {
        var it = Case()
        _ = it.step()
        it.link()
        #expect(it.step() == [.cut(link: 100)])
        it.right = .allowed
        #expect(it.step() == [CapturePlanTests.permit])
        it.graph.remove(100)
        #expect(it.step() == [.join(CapturePlanTests.ends)])

        it.canRelink = true
        it.right = .refused
        it.link(101)
        #expect(it.step() == [CapturePlanTests.forbid, .cut(link: 101)])
        it.right = .allowed
        #expect(it.step() == [CapturePlanTests.permit])
        it.graph.remove(101)
        #expect(it.step() == [.relink([4])])
    }

    @Test(arguments: [CapturePlanTests.client, nil] as [ObjectID?])
    func linksPastUsAreTold(_ maker: ObjectID?) {
        var it = Case()
        // One that was there before us is cut, but it may be older than the refusal.
        it.link(99, maker: maker)
        #expect(it.step() == [CapturePlanTests.forbid, .cut(link: 99)])
        it.graph.remove(99)
        it.link(100, maker: maker)
        #expect(it.step() == [.cut(link: 100), CapturePlanTests.bypass])
        // It is not made again.
        it.graph.remove(100)
        it.canRelink = true
        it.right = .allowed
        #expect(it.step().contains(CapturePlanTests.permit))
    }

    @Test func aRevokedLinkIsNoBypass() {
        var it = Case()
        it.right = .allowed
        _ = it.step()
        it.link(100, maker: CapturePlanTests.client)
        #expect(it.step() == [])
        it.right = .refused
        #expect(it.step() == [CapturePlanTests.forbid, .cut(link: 100)])
    }

    @Test func silenceWhileItWaits() {
        var it = Case()
        it.isRelayed = true
        #expect(it.step() == [CapturePlanTests.forbid, .silence(node: 4, ports: [41])])
        #expect(it.step() == [])
        it.right = .ask
        #expect(it.step() == [])
        it.right = .allowed
        #expect(it.step() == [CapturePlanTests.permit, .endSilence(node: 4), .relink([4])])
        it.right = .refused
        #expect(it.step() == [CapturePlanTests.forbid, .silence(node: 4, ports: [41])])
        it.plan.forgetSilence()
        #expect(it.step() == [.silence(node: 4, ports: [41])])
    }
}
