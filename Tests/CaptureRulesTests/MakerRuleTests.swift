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

    /// Numbers that are missing at the start were modules that do not work here; later ones may have been a client's.
    @Test(
        arguments: [
            ([0, 2, 3, 5, 6, 7], [5], 8), ([0, 2, 3, 5, 6, 8], [3, 5], 7), ([0, 1, 2], [], 0), ([], [], 0),
        ] as [(Set<UInt64>, [UInt64], UInt64)])
    func configuredObjectsComeBeforeClients(_ serials: Set<UInt64>, _ own: [UInt64], _ end: UInt64) {
        #expect(MakerRule.endOfConfiguration(serials, own: own) == end)
    }

    @Test(
        arguments: [
            ("", .unsandboxed), ("org.example.Game", .app(game)), ("snap.chat", .app(chat)),
        ] as [(String, Owner)])
    func aPortalConnectsForAnApp(_ id: String, _ owner: Owner) {
        #expect(Client.Portal(app: id, isForCamera: true).owner == owner)
    }
}
