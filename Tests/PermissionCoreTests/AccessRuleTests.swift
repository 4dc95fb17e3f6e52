// What an enforcement point does, and why a grant does not count any more.

import PermissionCore
import PermissionModel
import Testing

@Suite
struct AccessRuleTests {
    /// status → what is done about a sandboxed app and about another one, with `Ask=sandboxed` and with `Ask=all`.
    private static let table: [(Status, sandboxed: (Access, Access), all: (Access, Access))] = [
        (.restricted, (.refused, .refused), (.refused, .refused)),
        (.denied, (.refused, .refused), (.refused, .refused)),
        (.unavailable, (.refused, .refused), (.refused, .refused)),
        (.granted, (.allowed, .allowed), (.allowed, .allowed)),
        (.undetermined, (.ask, .allowed), (.ask, .ask)),
    ]

    @Test func theTable() {
        #expect(Set(AccessRuleTests.table.map(\.0)) == Set(Status.allCases))
        for (status, sandboxed, all) in AccessRuleTests.table {
            #expect(Access(status, ask: .sandboxed, isSandboxed: true) == sandboxed.0)
            #expect(Access(status, ask: .sandboxed, isSandboxed: false) == sandboxed.1)
            #expect(Access(status, ask: .all, isSandboxed: true) == all.0)
            #expect(Access(status, ask: .all, isSandboxed: false) == all.1)
        }
    }

    @Test(arguments: Status.allCases)
    func withAskNoneNothingIsEnforced(_ status: Status) {
        for isSandboxed in [false, true] {
            #expect(Access(status, ask: .none, isSandboxed: isSandboxed) == .allowed)
        }
    }

    /// status, switched off, a grant is kept, why the last one ended → why none counts.
    private static let ends: [(Status, Bool, Bool, GrantEnd?, GrantEnd?)] = [
        (.granted, false, true, nil, nil), (.granted, false, true, .time, nil),
        (.restricted, false, true, nil, .administrator), (.restricted, true, true, .time, .administrator),
        (.restricted, false, false, nil, nil), (.restricted, true, false, .exit, .exit),
        (.denied, true, true, nil, .switch), (.denied, true, true, .person, .switch),
        (.denied, false, true, nil, .person), (.denied, false, false, .person, .person),
        (.denied, true, false, .session, .session), (.denied, true, false, nil, nil),
        (.undetermined, false, false, nil, nil), (.undetermined, false, false, .person, .person),
        (.undetermined, false, false, .administrator, .administrator),
    ]

    @Test(arguments: ends.indices)
    func whyAGrantDoesNotCount(_ index: Int) {
        let row = AccessRuleTests.ends[index]
        #expect(GrantEnd(row.0, isOff: row.1, isKept: row.2, last: row.3) == row.4)
    }
}
