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

    @Test(
        arguments: [
            ("", .unsandboxed), ("org.example.Game", .app(game)), ("snap.chat", .app(chat)),
        ] as [(String, Owner)])
    func aPortalConnectsForAnApp(_ id: String, _ owner: Owner) {
        #expect(Client.Portal(app: id, isForCamera: true).owner == owner)
    }
}
