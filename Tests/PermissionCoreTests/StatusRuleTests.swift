// The order of statuses: the first that applies wins, and devices are examined only if nothing refuses before.

import PermissionCore
import PermissionModel
import Testing

@Suite
struct StatusRuleTests {
    /// restricted, switched off, decision, allowed by rule, usable → status.
    static let table: [(Bool, Bool, Verdict?, Bool, Bool, Status)] = [
        (true, false, nil, false, true, .restricted), (true, false, .grant, true, true, .restricted),
        (true, false, .deny, true, false, .restricted), (true, false, nil, true, false, .restricted),
        (false, false, .deny, false, true, .denied), (false, false, .deny, true, true, .denied),
        (false, false, .deny, false, false, .denied), (false, false, .deny, true, false, .denied),
        (false, false, .grant, false, true, .granted), (false, false, .grant, true, true, .granted),
        (false, false, .grant, false, false, .unavailable), (false, false, .grant, true, false, .unavailable),
        (false, false, nil, true, true, .granted), (false, false, nil, true, false, .unavailable),
        (false, false, nil, false, true, .undetermined), (false, false, nil, false, false, .unavailable),
        (true, true, .grant, true, true, .restricted), (false, true, .grant, true, true, .denied),
        (false, true, nil, true, true, .denied), (false, true, .grant, false, false, .denied),
        (false, true, nil, false, false, .denied),
    ]

    @Test(arguments: table.indices)
    func firstThatApplies(_ index: Int) {
        let row = StatusRuleTests.table[index]
        #expect(
            status(restricted: row.0, isOff: row.1, decision: row.2, allowedByRule: row.3, isUsable: row.4) == row.5)
    }

    @Test func refusedAppsLearnNothingAboutDevices() {
        var looks = 0
        func look() -> Bool {
            looks += 1
            return true
        }
        _ = status(restricted: true, isOff: false, decision: nil, allowedByRule: false, isUsable: look())
        _ = status(restricted: false, isOff: false, decision: .deny, allowedByRule: false, isUsable: look())
        _ = status(restricted: false, isOff: true, decision: .grant, allowedByRule: true, isUsable: look())
        #expect(looks == 0)
        _ = status(restricted: false, isOff: false, decision: nil, allowedByRule: false, isUsable: look())
        #expect(looks == 1)
    }
}
