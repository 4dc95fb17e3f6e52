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
            (sandboxed, .undetermined, .sandboxed, .undecided), (sandboxed, .undetermined, .all, .undecided),
            (sandboxed, .granted, .sandboxed, .allowed), (sandboxed, .denied, .sandboxed, .refused),
            (sandboxed, .denied, .none, .allowed), (sandboxed, nil, .sandboxed, .refused),
            (sandboxed, .restricted, .all, .refused), (sandboxed, .unavailable, .all, .refused),
            (program, .undetermined, .sandboxed, .allowed), (program, .undetermined, .all, .undecided),
            (program, .denied, .sandboxed, .refused), (program, .restricted, .sandboxed, .refused),
            (program, nil, .sandboxed, .refused), (program, .restricted, .none, .allowed),
            (.unknown, nil, .sandboxed, .refused), (.unknown, nil, .none, .allowed),
            (.unsandboxed, nil, .sandboxed, .allowed), (.unsandboxed, nil, .all, .refused),
            (.session, nil, .all, .allowed),
        ] as [(Owner, Status?, AskScope, RecordingRight)])
    func theTable(_ owner: Owner, _ status: Status?, _ ask: AskScope, _ right: RecordingRight) {
        #expect(RecordingRight(owner, status, ask: ask) == right)
    }

    /// What was allowed stays so until permd is heard, and no longer.
    @Test(
        arguments: [
            (sandboxed, nil, .allowed), (program, nil, .allowed), (.unknown, nil, .refused),
            (sandboxed, .undetermined, .undecided), (sandboxed, .denied, .refused), (program, .restricted, .refused),
        ] as [(Owner, Status?, RecordingRight)])
    func beforePermdIsHeard(_ owner: Owner, _ status: Status?, _ right: RecordingRight) {
        #expect(RecordingRight(owner, status, ask: .sandboxed, wasAllowed: true) == right)
    }
}
