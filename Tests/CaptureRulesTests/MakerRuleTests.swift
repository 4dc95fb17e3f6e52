// Whose an object is that does not say who made it, and a connection that a portal has passed on.

import CaptureRules
import PermissionModel
import Testing

@Suite
struct MakerRuleTests {
    private static let game = AppID("flatpak:org.example.Game")!
    private static let chat = AppID("snap:chat")!
    private static let program = Owner.process(ProcessKey(pid: 9, startTime: 1), AppID("exe:/usr/bin/a")!)
    private static let gameProcess = Owner.process(ProcessKey(pid: 8, startTime: 1), game)

    @Test(
        arguments: [
            ([.session], .session), ([program], .unsandboxed), ([program, .session, .unsandboxed], .unsandboxed),
            ([gameProcess], .app(game)), ([gameProcess, .app(game), program, .session], .app(game)),
            ([gameProcess, .app(chat)], .unknown), ([program, nil], .unknown), ([.session, .unknown], .unknown),
        ] as [([Owner?], Owner)])
    func itIsTheLeastOfItsPossibleMakers(_ makers: [Owner?], _ owner: Owner) {
        #expect(MakerRule.owner(makers) == owner)
    }

    /// A client that is gone may have made what has a higher number than it had.
    @Test(
        arguments: [
            ([0, 1, 2, 3, 4, 5], 3, 3), ([5, 4, 3, 2, 1, 0], 3, 3), ([0, 1, 4, 5], 5, 2), ([0, 1, 2, 3], nil, 4),
            ([], nil, 0),
        ] as [([UInt64], UInt64?, UInt64)])
    func configuredObjectsComeBeforeClients(_ serials: [UInt64], _ client: UInt64?, _ end: UInt64) {
        var objects = ConfiguredObjects()
        for serial in serials { objects.add(String(serial), isClient: serial == client) }
        #expect(objects.end == end)
    }

    @Test(
        arguments: [
            ("", .unsandboxed), ("org.example.Game", .app(game)), ("snap.chat", .app(chat)),
        ] as [(String, Owner)])
    func aPortalConnectsForAnApp(_ id: String, _ owner: Owner) {
        #expect(Client.Portal(app: id, isForCamera: true).owner == owner)
    }
}
