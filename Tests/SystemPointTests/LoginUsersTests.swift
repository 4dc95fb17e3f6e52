// Which users are people, by login.defs(5).

import SystemPoint
import Testing

struct LoginUsersTests {
    @Test(arguments: [
        ("", 1000...60000), ("UID_MIN\t\t\t 500\n#UID_MIN 7\nUID_MAX 2000\n", 500...2000), ("UID_MIN 0", 1...60000),
        ("UID_MIN x\nUID_MAX", 1000...60000), ("UID_MIN 70000", 70000...70000), ("SYS_UID_MAX 9", 1000...60000),
    ])
    func accountsOfPeople(_ text: String, _ expected: ClosedRange<UInt32>) {
        #expect(LoginUsers.accounts(text) == expected)
    }
}
