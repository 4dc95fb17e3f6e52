// Errors, agent levels, limits and request paths, exactly as the D-Bus contract defines them.

import PermissionModel
import Testing

@Suite
struct ErrorTableTests {
    static let contract: [(String, Bool)] = [
        ("InvalidArguments", false), ("AccessDenied", false), ("NotGranted", false), ("NotSupported", false),
        ("NotFound", false), ("DeviceUnavailable", true), ("NoAgent", true), ("LimitExceeded", true),
        ("StoreUnavailable", true), ("Failed", false),
    ]

    @Test func errorsMatchTheContract() {
        #expect(ErrorKind.allCases.map(\.rawValue) == ErrorTableTests.contract.map(\.0))
        #expect(ErrorKind.allCases.map(\.isRetryable) == ErrorTableTests.contract.map(\.1))
        for kind in ErrorKind.allCases {
            #expect(kind.name == "org.permd.Error.\(kind.rawValue)")
            #expect(ErrorKind(name: kind.name) == kind)
            #expect(!kind.text.isEmpty)
        }
        #expect(ErrorKind(name: "org.freedesktop.DBus.Error.Failed") == nil)
        #expect(ErrorKind(name: "org.permd.Error.Nonsense") == nil)
    }

    @Test func levelsAreOrdered() {
        #expect(AgentLevel.allCases.sorted(by: >) == [.system, .desktop, .terminal, .fallback])
        #expect(AgentLevel.standard == .desktop)
    }

    @Test func limitsMatchTheContract() {
        let configuration = Configuration()
        #expect([configuration.waitingPerApp, configuration.waiting] == [32, 1024])
        #expect([configuration.agentWait, configuration.promptTimeout, configuration.nagPause] == [10, 300, 600])
        #expect([configuration.nagLimit, configuration.historyRows, configuration.historyDays] == [3, 10_000, 90])
        #expect([Limits.bodyScalars, Limits.titleScalars, Limits.agentFailures] == [512, 80, 3])
        #expect(Limits.maximumReservation == 15)
    }

    @Test func requestPaths() {
        #expect(BusNames.requestPath(owner: ":1.42", token: "a_1") == "/org/permd/request/1_42/a_1")
        for token in ["a", "_", "A9_z", String(repeating: "x", count: 64)] { #expect(BusNames.isToken(token)) }
        for token in ["", "a-b", "a.b", "a/b", "ä", " ", String(repeating: "x", count: 65)] {
            #expect(!BusNames.isToken(token))
        }
    }

    @Test func durationsHaveTheirKeywordAndEnd() {
        let durations: [Duration] = [.once, .session, .until(7), .always]
        #expect(durations.map(\.kind) == [.once, .session, .until, .always])
        #expect(durations.map(\.end) == [nil, nil, 7, nil])
    }
}
