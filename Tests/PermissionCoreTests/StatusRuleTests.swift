// The order of statuses: the first that applies wins, and devices are examined only if nothing refuses before.

import PermissionCore
import PermissionModel
import Testing

@Suite
struct StatusRuleTests {
    /// restricted, decision, allowed by rule, usable → status.
    static let table: [(Bool, Verdict?, Bool, Bool, Status)] = [
        (true, nil, false, true, .restricted), (true, .grant, true, true, .restricted),
        (true, .deny, true, false, .restricted), (true, nil, true, false, .restricted),
        (false, .deny, false, true, .denied), (false, .deny, true, true, .denied),
        (false, .deny, false, false, .denied), (false, .deny, true, false, .denied),
        (false, .grant, false, true, .granted), (false, .grant, true, true, .granted),
        (false, .grant, false, false, .unavailable), (false, .grant, true, false, .unavailable),
        (false, nil, true, true, .granted), (false, nil, true, false, .unavailable),
        (false, nil, false, true, .undetermined), (false, nil, false, false, .unavailable),
    ]

    @Test(arguments: table.indices)
    func firstThatApplies(_ index: Int) {
        let row = StatusRuleTests.table[index]
        #expect(status(restricted: row.0, decision: row.1, allowedByRule: row.2, isUsable: row.3) == row.4)
    }

    @Test func refusedAppsLearnNothingAboutDevices() {
        var looks = 0
        func look() -> Bool {
            looks += 1
            return true
        }
        _ = status(restricted: true, decision: nil, allowedByRule: false, isUsable: look())
        _ = status(restricted: false, decision: .deny, allowedByRule: false, isUsable: look())
        #expect(looks == 0)
        _ = status(restricted: false, decision: nil, allowedByRule: false, isUsable: look())
        #expect(looks == 1)
    }
}
