// The user's login sessions, and whether prompts may be shown, by what a fake logind says.

import DBus
import Glibc
import PermissionTestKit
import System
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct LoginSessionsTests {
    @LoopActor
    private final class Bench {
        let logind: FakeLogind
        private let sessions: LoginSessions
        /// Each change of whether prompts may be shown.
        let changes = EventLog<Bool>()
        /// Each other list of the IDs of sessions.
        let logins = EventLog<[String]>()
        /// Each session that came to the foreground or left it.
        let switches = EventLog<Bool>()

        /// - Parameters:
        ///   - answerTime: By default no test waits for logind in vain, however busy the machine is.
        ///   - prepare: Adds the sessions that are there from the start.
        init(answerTime: Int64 = 600_000, _ prepare: @LoopActor (FakeLogind) -> Void = { _ in }) async throws {
            logind = try await FakeLogind()
            prepare(logind)
            let bus = ReconnectingBus(.address(logind.address))
            sessions = LoginSessions(on: bus, answerTime: answerTime, log: quietLog)
            changes.add(mayPrompt)
            sessions.start(
                onChange: { [changes, logins] in
                    let mayPrompt = SeatActivity($0).isThere
                    if mayPrompt != changes.all.last { changes.add(mayPrompt) }
                    guard case .sessions(let sessions) = $0 else { return }
                    let ids = sessions.map(\.id)
                    if ids != logins.all.last { logins.add(ids) }
                }, onSwitch: { [switches] in switches.add(true) })
        }

        var mayPrompt: Bool { SeatActivity(sessions.view).isThere }

        func end() async { await logind.stop() }
    }

    @Test func nothingIsShownBeforeLogindHasAnswered() async throws {
        let bench = try await Bench { $0.add("1") }
        #expect(!bench.mayPrompt)
        #expect(try await bench.changes.wait(for: 2) == [false, true])
        await bench.end()
    }

    /// Prompts do not wait forever for a logind that hangs, but a late answer counts.
    @Test func aLateAnswerCounts() async throws {
        let bench = try await Bench(answerTime: 50) {
            $0.add("1", isLocked: true)
            $0.isSlow = true
        }
        #expect(try await bench.changes.wait(for: 2) == [false, true])
        bench.logind.isSlow = false
        #expect(try await bench.changes.wait(for: 3).last == false)
        await bench.end()
    }

    @Test func aLockedSessionHoldsPromptsBack() async throws {
        let bench = try await Bench { $0.add("1") }
        _ = try await bench.changes.wait(for: 2)
        bench.logind.change("1", isLocked: true)
        #expect(try await bench.changes.wait(for: 3).last == false)
        bench.logind.change("1", isLocked: false)
        #expect(try await bench.changes.wait(for: 4).last == true)
        #expect(bench.switches.all.count == 1)
        await bench.end()
    }

    @Test func aSessionInTheBackgroundHoldsPromptsBack() async throws {
        let bench = try await Bench { $0.add("1", isActive: false) }
        bench.logind.add("2", user: 4242, isActive: true)
        _ = try await bench.switches.wait(for: 1)
        #expect(!bench.mayPrompt)
        bench.logind.change("1", isActive: true)
        #expect(try await bench.changes.wait(for: 2) == [false, true])
        #expect(try await bench.switches.wait(for: 2).count == 2)
        bench.logind.change("1", isActive: false)
        #expect(try await bench.changes.wait(for: 3).last == false)
        // Without a session of the user, a person is assumed to be there.
        bench.logind.remove("1")
        #expect(try await bench.changes.wait(for: 4).last == true)
        await bench.end()
    }

    /// A session by ssh is always active and never locked. The sessions are answered about in the order of their IDs.
    @Test(arguments: [(remote: "1", locked: "2"), (remote: "2", locked: "1")])
    func aRemoteSessionDoesNotUnlockAScreen(_ id: (remote: String, locked: String)) async throws {
        let bench = try await Bench {
            $0.add(id.locked, isLocked: true)
            $0.add(id.remote, seat: "")
        }
        _ = try await bench.switches.wait(for: 2)
        #expect(bench.changes.all == [false] && !bench.mayPrompt)
        bench.logind.remove(id.locked)
        #expect(try await bench.changes.wait(for: 2).last == true)
        await bench.end()
    }

    /// A logind whose session is locked, and that answers only its first two calls.
    private func lockedLogind(_ bus: PrivateBus, _ calls: EventLog<String>) throws -> Connection {
        let (name, path) = ("org.freedesktop.login1", "/org/freedesktop/login1/session/1")
        let logind = try bus.connect()
        logind.methodHandler = { call in
            calls.add(call.member ?? "")
            guard calls.all.count <= 2 else { return }
            let session: [String: Value] = [
                "User": .structure([.uint32(getuid()), .objectPath("/")]), "Class": .string("user"),
                "Id": .string("1"), "State": .string("active"), "Active": .bool(true), "LockedHint": .bool(true),
                "Seat": .structure([.string("seat0"), .objectPath("/")]),
            ]
            let row = Value.structure([
                .string("1"), .uint32(getuid()), .string("somebody"), .string("seat0"), .objectPath(path),
            ])
            let isList = call.member == "ListSessions"
            logind.reply(to: call, [isList ? .array(of: "(susso)", [row]) : .properties(session)])
        }
        _ = try logind.requestName(name)
        return logind
    }

    /// Returns when the bus has noticed it, and has given its name free.
    private func close(_ logind: Connection, _ bus: PrivateBus) async throws {
        let desk = try bus.connect()
        let gone = EventLog<Bool>()
        let watch = desk.whenNameVanishes(logind.uniqueName) { gone.add(true) }
        logind.close()
        try await gone.wait(for: 1)
        watch.cancel()
        desk.close()
    }

    /// A session is not gone, nor its screen unlocked, because logind or the bus went away with a call pending.
    @Test(arguments: [true, false])
    func aCallWithoutAnAnswerUnlocksNothing(_ diesDuringTheList: Bool) async throws {
        let bus = try await PrivateBus()
        let calls = EventLog<String>()
        let logind = try lockedLogind(bus, calls)
        let changes = EventLog<LoginSessions.View>()
        let sessions = LoginSessions(on: ReconnectingBus(.address(bus.address)), answerTime: 600_000, log: quietLog)
        sessions.start(onChange: { changes.add($0) }, onSwitch: {})
        try await calls.wait(for: 2)
        if diesDuringTheList {
            try await close(logind, bus)
            let second = try lockedLogind(bus, calls)
            try await calls.wait(for: 3)
            try await close(second, bus)
        } else {
            logind.send(
                .signal(
                    path: "/org/freedesktop/login1/session/1", interface: StandardInterfaces.properties,
                    member: "PropertiesChanged",
                    [.string("org.freedesktop.login1.Session"), .properties([:]), .strings(["LockedHint"])]))
            try await calls.wait(for: 3)
            try await close(logind, bus)
        }
        // The answer to this question arrives after the error of the pending call.
        let after = try lockedLogind(bus, calls)
        try await calls.wait(for: 4)
        #expect(changes.all.count == 1 && changes.all.first == sessions.view)
        #expect(!SeatActivity(sessions.view).isThere)
        after.close()
        await bus.end()
    }

    @Test func aGreeterIsNoSessionOfThePerson() async throws {
        let bench = try await Bench {
            $0.add("c1", kind: "greeter")
            $0.add("1", isActive: false)
        }
        _ = try await bench.switches.wait(for: 1)
        #expect(!bench.mayPrompt)
        await bench.end()
    }

    @Test func eachListOfSessionsIsReportedOnce() async throws {
        let bench = try await Bench {
            $0.add("2")
            $0.add("1", isActive: false)
            $0.add("3", user: 4242)
            $0.add("c1", kind: "greeter")
        }
        #expect(try await bench.logins.wait(for: 1) == [["1", "2"]])
        bench.logind.change("2", isLocked: true)
        bench.logind.remove("1")
        #expect(try await bench.logins.wait(for: 2).last == ["2"])
        // Its programs go on, and logind still lists it.
        bench.logind.change("2", isClosing: true)
        #expect(try await bench.logins.wait(for: 3).last == [])
        await bench.end()
    }

    @Test(arguments: [
        (["2"], ["2"], false), (["2"], [], true), ([], ["2"], false), ([], [], false),
        (["2", "3"], ["3", "4"], false),
        (["2"], ["5"], true),
    ])
    func theLastOfTheEarlierSessionsHasEnded(_ earlier: [String], _ now: [String], _ ended: Bool) {
        #expect(UserSession.hasEnded(with: earlier, now: now) == ended)
    }
}
