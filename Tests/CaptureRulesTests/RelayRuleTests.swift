// Whose the clients of a sound server are.

import CaptureRules
import PermissionModel
import Testing

@Suite
struct RelayRuleTests {
    private static let player = AppID("exe:/usr/bin/player")!
    private static let app = AppID("flatpak:org.example.App")!
    private static let other = AppID("flatpak:org.example.Other")!
    private static let server: Int32 = 5

    private func peer(_ pid: Int32, _ app: AppID?, own: Int32? = nil, connections: Int = 1) -> RelayPeer {
        RelayPeer([holder(pid, app, own: own)], connections: connections)
    }

    private func holder(_ pid: Int32, _ app: AppID?, own: Int32? = nil) -> RelayProcess {
        RelayProcess(ProcessKey(pid: pid, startTime: 1), app, ownPid: own ?? pid)
    }

    private func owners(
        _ claims: [ObjectID: Int32?], apps: [ObjectID: AppID] = [:], own: Set<ObjectID> = [], _ peers: [RelayPeer],
        isComplete: Bool = true
    ) -> [ObjectID: Owner] {
        let claims = claims.reduce(into: [ObjectID: Claim]()) {
            $0[$1.key] = Claim(pid: $1.value, app: apps[$1.key], isForClient: !own.contains($1.key))
        }
        return RelayRule.owners(claims: claims, peers: peers, isComplete: isComplete, server: RelayRuleTests.server)
    }

    private func process(_ pid: Int32, _ app: AppID) -> Owner { .process(ProcessKey(pid: pid, startTime: 1), app) }

    @Test func honestClaimsCount() {
        let found = owners(
            [1: 100, 2: 3, 3: 5, 4: nil], [peer(100, RelayRuleTests.player), peer(200, RelayRuleTests.app, own: 3)])
        #expect(found[1] == process(100, RelayRuleTests.player))
        #expect(found[2] == process(200, RelayRuleTests.app))
        // These may be clients of the sandboxed program, whose honest one has no connection any more.
        #expect(found[3] == .unknown)
        #expect(found[4] == .unknown)
        let outside = owners([1: 100, 3: 5, 4: nil], own: [3], [peer(100, RelayRuleTests.player)])
        #expect(outside == [1: process(100, RelayRuleTests.player), 3: .session, 4: .unknown])
    }

    /// A program outside sandboxes may know itself by another number, too.
    @Test func aProgramInAContainer() {
        let peers = [peer(100, RelayRuleTests.player, own: 7)]
        #expect(owners([1: 7], peers)[1] == process(100, RelayRuleTests.player))
        #expect(owners([1: 100], peers)[1] == .unknown)
    }

    /// A sandboxed client has left, and PipeWire has not noticed: it may have said anything.
    @Test func aClientThatHasLeft() {
        let peers = [peer(100, RelayRuleTests.player)]
        for claim: Int32? in [100, 5, 77, nil] {
            let found = owners([1: 100, 2: claim, 3: 5], own: [3], peers)
            #expect(found[2] == .unknown && found[3] == .session)
            #expect(found[1] == (claim == 100 ? .unknown : process(100, RelayRuleTests.player)))
        }
    }

    /// The server keeps clients for a while whose connections have been closed. Such a one hides that another lies.
    @Test func aClientWithoutConnection() {
        let peers = [peer(100, RelayRuleTests.player), peer(200, RelayRuleTests.app, own: 3)]
        // 200 is the process itself, which does not know that number.
        for lie: Int32? in [100, 200, 5, 77, nil] {
            let found = owners([1: 100, 2: 3, 3: lie], peers)
            #expect(found[3] == .unknown && found[2] == process(200, RelayRuleTests.app))
        }
    }

    /// A sandboxed process says that it is a program outside, which is connected as well.
    @Test func aStolenNameIsNotBelieved() {
        let peers = [peer(100, RelayRuleTests.player), peer(200, RelayRuleTests.app, own: 3)]
        let found = owners([1: 100, 2: 100], peers)
        #expect(found == [1: .unknown, 2: .unknown])
        // Not if the program's own client says nothing either, or has not appeared yet.
        #expect(owners([1: nil, 2: 100], peers)[2] == .unknown)
        #expect(owners([2: 100], peers)[2] == .unknown)
        // Nor with a second connection whose client is honest.
        let two = [peer(100, RelayRuleTests.player), peer(200, RelayRuleTests.app, own: 3, connections: 2)]
        #expect(owners([1: 3, 2: 100], two)[2] == .unknown)
    }

    @Test func theServersNameIsNotBelieved() {
        let found = owners([1: RelayRuleTests.server], [peer(200, RelayRuleTests.app, own: 3)])
        #expect(found[1] == .unknown)
    }

    /// Clients that say nothing useful have the rights of the only sandboxed app that they can be.
    @Test func theOnlySandboxedAppIsEveryUnknownClient() {
        let peers = [peer(100, RelayRuleTests.player), peer(200, RelayRuleTests.app, own: 3, connections: 2)]
        #expect(owners([1: nil, 2: 77, 3: 3], peers)[1] == .app(RelayRuleTests.app))
        #expect(owners([1: nil, 2: 77, 3: 3], peers)[2] == .app(RelayRuleTests.app))
        let two = peers + [peer(300, RelayRuleTests.other, own: 4)]
        #expect(owners([1: nil, 2: 77, 3: 3], two)[1] == .unknown)
    }

    /// One app may not take the name of another, whose rights it does not have.
    @Test func oneSandboxedAppIsNotTheOther() {
        let peers = [peer(200, RelayRuleTests.app, own: 3), peer(300, RelayRuleTests.other, own: 4)]
        #expect(
            owners([1: 3, 2: 4], peers) == [1: process(200, RelayRuleTests.app), 2: process(300, RelayRuleTests.other)])
        #expect(owners([1: 3, 2: 3], peers) == [1: .unknown, 2: .unknown])
        // Both know themselves by the same number.
        let same = [peer(200, RelayRuleTests.app, own: 3), peer(300, RelayRuleTests.other, own: 3)]
        #expect(owners([1: 3, 2: 3], same) == [1: .unknown, 2: .unknown])
        // Two processes of one app may be either.
        let one = [peer(200, RelayRuleTests.app, own: 3), peer(201, RelayRuleTests.app, own: 3)]
        #expect(owners([1: 3, 2: 3], one) == [1: .app(RelayRuleTests.app), 2: .app(RelayRuleTests.app)])
    }

    /// Both know themselves by the same number; the server says which flatpaks they are.
    @Test func sandboxesWithTheSameNumbers() {
        let peers = [
            peer(100, RelayRuleTests.player), peer(200, RelayRuleTests.app, own: 3, connections: 2),
            peer(300, RelayRuleTests.other, own: 3),
        ]
        let (app, other) = (RelayRuleTests.app, RelayRuleTests.other)
        #expect(
            owners([1: 3, 2: 3, 3: 3, 4: 100], apps: [1: app, 2: other, 3: app], peers)
                == [
                    1: process(200, app), 2: process(300, other), 3: process(200, app),
                    4: process(100, RelayRuleTests.player),
                ])
        let unknown: [ObjectID: Owner] = [1: .unknown, 2: .unknown, 3: .unknown]
        // One says that it is the other, one says nothing of its app, or another number.
        #expect(owners([1: 3, 2: 3, 3: 3], apps: [1: app, 2: app, 3: app], peers) == unknown)
        #expect(owners([1: 3, 2: 3, 3: 3], apps: [1: app, 3: app], peers) == unknown)
        #expect(owners([1: 3, 2: 3, 3: 77], apps: [1: app, 2: other, 3: app], peers) == unknown)
        // One of them cannot be identified.
        let unsure = [peer(200, app, own: 3), peer(300, nil, own: 3)]
        #expect(owners([1: 3, 2: 3], apps: [1: app, 2: other], unsure) == [1: .unknown, 2: .unknown])
        // Two processes of one of them.
        let three = [peer(200, app, own: 3), peer(201, app, own: 3), peer(300, other, own: 3)]
        #expect(
            owners([1: 3, 2: 3, 3: 3], apps: [1: app, 2: app, 3: other], three)
                == [1: .app(app), 2: .app(app), 3: process(300, other)])
    }

    /// Of a connection from another network namespace, it is not known which of the processes there holds it.
    @Test func aConnectionOfOneOfSeveralProcesses() {
        let several = RelayPeer(
            [holder(200, RelayRuleTests.app, own: 2), holder(201, RelayRuleTests.app, own: 3)], connections: 1)
        let peers = [peer(100, RelayRuleTests.player), several]
        #expect(
            owners([1: 100, 2: 3], peers) == [1: process(100, RelayRuleTests.player), 2: .app(RelayRuleTests.app)])
        // It says that it is a program outside.
        #expect(owners([1: 100, 2: 100], peers) == [1: .unknown, 2: .unknown])
        // With one process of another app that has the same number, each may be either.
        let other = peer(300, RelayRuleTests.other, own: 3)
        #expect(owners([1: 2, 2: 3], peers + [other]) == [1: .unknown, 2: .unknown])
        #expect(owners([1: 2, 2: 2], peers + [other]) == [1: .unknown, 2: .unknown])
        let apart = peer(300, RelayRuleTests.other, own: 4)
        #expect(owners([1: 2, 2: 4], peers + [apart])[2] == process(300, RelayRuleTests.other))
        #expect(owners([1: 2, 2: 2], peers + [apart]) == [1: .unknown, 2: .unknown])
        // A connection within this network namespace as well.
        let both = owners([1: 2, 2: 2], [several, peer(200, RelayRuleTests.app, own: 2)])
        #expect(both == [1: .app(RelayRuleTests.app), 2: .app(RelayRuleTests.app)])
    }

    /// A program outside sandboxes may be in a network namespace of its own, too.
    @Test func programsInAnotherNetwork() {
        let programs = RelayPeer(
            [holder(100, RelayRuleTests.player), holder(101, RelayRuleTests.player)], connections: 1)
        #expect(owners([1: 101, 2: nil], [programs]) == [1: process(101, RelayRuleTests.player), 2: .unknown])
        let mixed = RelayPeer([holder(100, RelayRuleTests.player), holder(101, nil)], connections: 1)
        #expect(owners([1: 100], [mixed]) == [1: .unknown])
    }

    @Test func whatIsNotFoundIsUnknown() {
        let peers = [peer(100, RelayRuleTests.player)]
        #expect(owners([1: 100], peers)[1] == process(100, RelayRuleTests.player))
        #expect(owners([1: 100], peers, isComplete: false)[1] == .unknown)
        #expect(owners([1: 200], peers + [peer(200, nil)])[1] == .unknown)
    }
}
