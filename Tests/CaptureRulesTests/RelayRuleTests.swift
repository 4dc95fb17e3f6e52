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
        RelayPeer(
            process: ProcessKey(pid: pid, startTime: 1), app: app, ownPid: own ?? pid, connections: connections)
    }

    private func owners(_ claims: [ObjectID: Int32?], _ peers: [RelayPeer], isComplete: Bool = true) -> [ObjectID:
        Owner]
    {
        RelayRule.owners(claims: claims, peers: peers, isComplete: isComplete, server: RelayRuleTests.server)
    }

    private func process(_ pid: Int32, _ app: AppID) -> Owner { .process(ProcessKey(pid: pid, startTime: 1), app) }

    @Test func honestClaimsCount() {
        let found = owners(
            [1: 100, 2: 3, 3: 5, 4: nil], [peer(100, RelayRuleTests.player), peer(200, RelayRuleTests.app, own: 3)])
        #expect(found[1] == process(100, RelayRuleTests.player))
        #expect(found[2] == process(200, RelayRuleTests.app))
        #expect(found[3] == .session)
        #expect(found[4] == .unsandboxed)
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

    @Test func whatIsNotFoundIsUnknown() {
        let peers = [peer(100, RelayRuleTests.player)]
        #expect(owners([1: 100], peers)[1] == process(100, RelayRuleTests.player))
        #expect(owners([1: 100], peers, isComplete: false)[1] == .unknown)
        #expect(owners([1: 200], peers + [peer(200, nil)])[1] == .unknown)
    }
}
