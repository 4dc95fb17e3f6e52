// When the user's last login session has ended, by what a fake of logind's list says.

import DBus
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite
@LoopActor
struct LoginSessionsTests {
    @LoopActor
    private final class Logins {
        /// The sessions that logind lists; nil if it cannot be asked.
        var listed: [String]?
        private(set) var changes: [[String]] = []
        private var sessions: LoginSessions!

        init(_ listed: [String]?) {
            self.listed = listed
            sessions = LoginSessions(log: quietLog) {
                [unowned self] in
                self.listed
            } onChange: {
                [unowned self] in
                changes.append($0)
            }
            sessions.readSessions()
        }

        func read(_ listed: [String]?) -> [[String]] {
            self.listed = listed
            changes = []
            sessions.readSessions()
            return changes
        }
    }

    @Test func eachListIsReportedOnce() {
        let logins = Logins(["1", "2"])
        #expect(logins.changes == [["1", "2"]])
        #expect(logins.read(["2"]) == [["2"]])
        #expect(logins.read([]) == [[]])
        #expect(logins.read([]) == [])
    }

    /// Without a descriptor for the question no session has ended, at the start neither.
    @Test func aListThatCannotBeReadIsNoList() {
        let logins = Logins(nil)
        #expect(logins.changes == [])
        #expect(logins.read(["1"]) == [["1"]])
        #expect(logins.read(nil) == [])
        #expect(logins.read(["1"]) == [])
    }

    @Test(arguments: [
        (["2"], ["2"], false), (["2"], [], true), ([], ["2"], false), ([], [], false),
        (["2", "3"], ["3", "4"], false),
        (["2"], ["5"], true),
    ])
    func theLastOfTheEarlierSessionsHasEnded(_ earlier: [String], _ now: [String], _ ended: Bool) {
        #expect(LoginSessions.haveEnded(earlier, now: now) == ended)
    }
}
