// Who may record, from who it is and what permd says.

import CaptureRules
import PermissionModel
import Testing

@Suite
struct AccessRuleTests {
    private static let sandboxed = Owner.app(AppID("flatpak:org.example.App")!)
    private static let program = Owner.process(ProcessKey(pid: 9, startTime: 1), AppID("exe:/usr/bin/a")!)

    @Test(
        arguments: [
            (sandboxed, .ask, .sandboxed, .ask), (sandboxed, .allowed, .sandboxed, .allowed),
            (sandboxed, .refused, .sandboxed, .refused), (sandboxed, nil, .sandboxed, .refused),
            (sandboxed, nil, .none, .allowed), (program, .ask, .all, .ask), (program, .allowed, .sandboxed, .allowed),
            (program, .refused, .sandboxed, .refused), (program, nil, .sandboxed, .refused),
            (program, nil, .all, .refused), (program, nil, .none, .allowed),
            (.unknown, nil, .sandboxed, .refused), (.unknown, nil, .all, .refused), (.unknown, nil, .none, .allowed),
            (.unsandboxed, nil, .sandboxed, .allowed), (.unsandboxed, nil, .all, .refused),
            (.unsandboxed, nil, .none, .allowed), (.session, nil, .all, .allowed),
        ] as [(Owner, Access?, AskScope, Access)])
    func theTable(_ owner: Owner, _ said: Access?, _ ask: AskScope, _ access: Access) {
        #expect(Access(owner, said, ask: ask) == access)
    }

    /// What was allowed stays so until permd is heard, and no longer.
    @Test(
        arguments: [
            (sandboxed, nil, .allowed), (program, nil, .allowed), (.unknown, nil, .refused),
            (sandboxed, .ask, .ask), (sandboxed, .refused, .refused), (program, .refused, .refused),
        ] as [(Owner, Access?, Access)])
    func beforePermdIsHeard(_ owner: Owner, _ said: Access?, _ access: Access) {
        #expect(Access(owner, said, ask: .sandboxed, wasAllowed: true) == access)
    }
}
