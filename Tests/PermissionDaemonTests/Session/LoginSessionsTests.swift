// When the user's last login session has ended, by what a fake of logind's list says.

import DBus
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite
@LoopActor
struct LoginSessionsTests {
    @LoopActor
    private final class Bench {
        /// The sessions that logind lists; nil if it cannot be asked.
        var listed: [String]?
        private(set) var events: [String] = []
        private(set) var sessions: LoginSessions!

        init(_ listed: [String]?) {
            self.listed = listed
            sessions = LoginSessions(log: quietLog) { [unowned self] in self.listed }
            sessions.onLastEnded = { [unowned self] in events.append("ended") }
            sessions.onChange = { [unowned self] in events.append($0.joined(separator: ",")) }
        }

        func look(_ listed: [String]?) -> [String] {
            self.listed = listed
            events = []
            sessions.readSessions()
            return events
        }
    }

    @Test func theLastSessionEndsOnce() {
        let bench = Bench(["1", "2"])
        #expect(bench.look(["2"]) == ["2"])
        #expect(bench.look([]) == ["ended", ""])
        #expect(bench.look([]) == [])
        #expect(bench.look(["3"]) == ["3"])
        #expect(bench.look([]) == ["ended", ""])
    }

    /// Without a descriptor for the question no session has ended.
    @Test func aListThatCannotBeReadEndsNothing() {
        let bench = Bench(["1"])
        #expect(bench.look(nil) == [])
        #expect(bench.sessions.current == ["1"])
        #expect(bench.look(["1"]) == [])
    }

    @Test func withoutASessionNothingEnds() {
        let bench = Bench([])
        #expect(bench.look([]) == [])
        #expect(bench.look(["1"]) == ["1"])
    }

    @Test(arguments: [
        (["2"], ["2"], false), (["2"], [], true), ([], ["2"], false), ([], [], false),
        (["2", "3"], ["3", "4"], false),
        (["2"], ["5"], true),
    ])
    func sessionsThatEndedWhilePermdWasNotRunning(_ saved: [String], _ current: [String], _ ended: Bool) {
        #expect(LoginSessions.sessionEnded(saved: saved, current: current) == ended)
    }
}
