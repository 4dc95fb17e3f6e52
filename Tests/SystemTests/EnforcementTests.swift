// Requests and statuses that an enforcement point asks for on behalf of apps. The test program is the point.

import CLinux
import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct EnforcementTests {
    /// An enforcement point on a connection of its own, with the answers to its requests.
    @LoopActor
    private final class Point {
        let connection: Connection
        /// `TOKEN CODE STATUSES`, or `TOKEN error NAME`.
        let responses = EventLog<String>()
        /// `APP PERMISSION` of each StatusChanged.
        let changes = EventLog<String>()

        init(_ stage: Stage) async throws {
            connection = try stage.permd.bus.connect()
            connection.onSignal(interface: BusNames.request, member: "Response", addMatch: false) { [responses] in
                let token = $0.path?.split(separator: "/").last.map(String.init) ?? ""
                let results = $0.body[1].properties ?? [:]
                let statuses = (results["statuses"]?.stringTable ?? [:]).sorted { $0.key < $1.key }
                    .map { "\($0.key)=\($0.value)" }
                let error = results["error"]?.stringValue.map { ["error \($0)"] } ?? []
                let pause = results["retry_after"].map { _ in ["paused"] } ?? []
                let code = String($0.body[0].uint32Value ?? 99)
                responses.add(([token, code] + statuses + error + pause).joined(separator: " "))
            }
            connection.onSignal(interface: BusNames.enforcement, member: "StatusChanged", addMatch: false) {
                [changes] in changes.add($0.body.map { $0.stringValue ?? "?" }.joined(separator: " "))
            }
            _ = try await call("Subscribe")
        }

        func call(_ member: String, _ body: [Value] = []) async throws(BusError) -> [Value] {
            try await connection.call(
                .call(
                    destination: BusNames.service, path: BusNames.root, interface: BusNames.enforcement,
                    member: member, body)
            ).body
        }

        func refusal(_ member: String, _ body: [Value]) async -> String? {
            do throws(BusError) {
                _ = try await call(member, body)
                return nil
            } catch { return Stage.describe(error) }
        }

        func request(_ who: Value, _ token: String, device: String = "") async throws(BusError) {
            _ = try await call("RequestAccessFor", EnforcementTests.request(who, token, device: device))
        }

        func status(_ who: Value) async throws(BusError) -> String {
            try await call("GetStatusFor", [.variant(who), .strings(["microphone"])])
                .first?.stringTable?["microphone"] ?? "?"
        }

        /// `ACCESS` or `ACCESS ENDED` of the microphone.
        func access(_ who: Value) async throws(BusError) -> String {
            let reply = try await call("GetAccessFor", [.variant(who), .strings(["microphone"])])
            guard case .dictionary("s", "a{sv}", let entries)? = reply.first, entries.count == 1,
                entries[0].key == .string("microphone"), let row = entries[0].value.properties
            else { return "\(reply)" }
            return [row["access"], row["ended"]].compactMap { $0?.stringValue }.joined(separator: " ")
        }
    }

    private static func access(_ app: AppID, _ point: Point) async throws(BusError) -> String {
        try await point.access(.string(app.description))
    }

    private static func request(_ who: Value, _ token: String, device: String = "") -> [Value] {
        [
            .variant(who), .strings(["microphone"]),
            .properties(["handle_token": .string(token), "device_name": .string(device)]),
        ]
    }

    private static func pidfd(_ app: TestApp) async throws -> UnixFD {
        UnixFD(owning: clinux_pidfd_open(try await app.pid(), 0))
    }

    private static func app(_ id: String) -> Value { .string("flatpak:\(id)") }

    /// permd has no device here, but the point has one.
    @Test(arguments: PrivateBus.Kind.allCases)
    func aProcessIsAskedAboutAndObeyed(_ kind: PrivateBus.Kind) async throws {
        let stage = try await Stage([], bus: try await PrivateBus(kind))
        let (app, agent) = (try await stage.app(), try await stage.agent([.grant(.once)]))
        let point = try await Point(stage)
        let who = Value.unixFD(try await EnforcementTests.pidfd(app))
        #expect(try await point.status(who) == "undetermined")
        try await point.request(who, "t", device: "Headset\n")
        #expect(try await point.responses.wait(for: 1) == ["t 0 microphone=granted"])
        #expect(agent.prompts.all[0].app == app.id.description)
        #expect(agent.prompts.all[0].items.first?["device_name"] == .string("Headset"))
        try await point.changes.first("the grant") { $0 == "\(app.id) microphone" }
        #expect(try await point.status(who) == "granted")
        #expect(try await app.status(.microphone) == "ok microphone=unavailable")
        // The decision ends with the process.
        let changes = point.changes.all.count
        await app.end()
        try await point.changes.wait(for: changes + 1)
        #expect(await point.refusal("GetStatusFor", [.variant(who), .strings([])]) == "NotFound final")
        #expect(try await stage.history().first == "microphone granted person")
        await stage.end()
    }

    @Test(arguments: PrivateBus.Kind.allCases)
    func aSandboxedProcessIsItsApp(_ kind: PrivateBus.Kind) async throws {
        let stage = try await Stage([], bus: try await PrivateBus(kind))
        let app = try await TestApp.flatpak("org.example.Call", on: stage.permd)
        let agent = try await stage.agent([.deny(.always)])
        let point = try await Point(stage)
        try await point.request(.unixFD(try await EnforcementTests.pidfd(app)), "t")
        #expect(try await point.responses.wait(for: 1) == ["t 0 microphone=denied"])
        #expect(agent.prompts.all[0].app == "flatpak:org.example.Call")
        #expect(agent.prompts.all[0].details["sandboxed"] == .bool(true))
        // The app itself may be named, too.
        #expect(try await point.status(EnforcementTests.app("org.example.Call")) == "denied")
        await app.end()
        await stage.end()
    }

    /// What a point obeys, and why a grant does not count any more.
    @Test func aPointIsToldWhatToDo() async throws {
        let rule = "[Rule r]\nApps=flatpak:org.example.*\nPermissions=microphone\nAction="
        let stage = try await Stage([])
        let (point, app) = (try await Point(stage), AppID("flatpak:org.example.App")!)
        func said() async throws(BusError) -> String { try await EnforcementTests.access(app, point) }
        func turn(on: Bool) async throws(BusError) {
            _ = try await stage.call(BusNames.policy, "SetSwitch", [.string("microphone"), .bool(on)])
        }
        func rules(_ action: String) async throws {
            let changes = point.changes.all.count
            try stage.permd.root.write(action.isEmpty ? "" : rule + action, to: "etc/permd/policy.d/r.conf")
            try await point.changes.wait(for: changes + 1)
        }
        #expect(try await said() == "ask")
        try await stage.set("deny", app, .microphone)
        #expect(try await said() == "refused")
        try await stage.set("grant", app, .microphone)
        #expect(try await said() == "allowed")
        try await turn(on: false)
        #expect(try await said() == "refused switch")
        try await turn(on: true)
        #expect(try await said() == "allowed")
        try await rules("restrict\n")
        #expect(try await said() == "refused administrator")
        try await rules("")
        #expect(try await said() == "allowed")
        try await stage.set("deny", app, .microphone)
        #expect(try await said() == "refused person")
        try await stage.set("grant", app, .microphone)
        _ = try await stage.reset(app.description)
        #expect(try await said() == "ask person")
        // Another app had a grant of the administrator only.
        let other = AppID("flatpak:org.example.Other")!
        try await rules("grant\n")
        #expect(try await EnforcementTests.access(other, point) == "allowed")
        try await rules("")
        #expect(try await EnforcementTests.access(other, point) == "ask administrator")
        await stage.end()
    }

    /// Whom a point asks is permd's rule as well.
    @Test func whoIsAskedAboutIsToldToo() async throws {
        let stage = try await Stage([])
        let (app, point) = (try await stage.app(), try await Point(stage))
        let who = Value.unixFD(try await EnforcementTests.pidfd(app))
        func said() async throws(BusError) -> String { try await point.access(who) }
        func ask(_ whom: String) async throws {
            let changes = point.changes.all.count
            try stage.permd.root.write("[Enforcement]\nAsk=\(whom)\n", to: "etc/permd/permd.conf")
            try await point.changes.wait(for: changes + 1)
        }
        #expect(try await said() == "allowed")
        try await ask("all")
        #expect(try await said() == "ask")
        try await stage.set("deny", app.id, .microphone)
        #expect(try await said() == "refused")
        try await ask("none")
        #expect(try await said() == "allowed")
        let all = try await point.call("GetAccessFor", [.variant(who), .strings([])]).first
        var named: Set<String?> = []
        if case .dictionary(_, _, let entries)? = all { named = Set(entries.map(\.key.stringValue)) }
        #expect(named == Set(Permission.allCases.map(\.rawValue)))
        await app.end()
        await stage.end()
    }

    @Test func whoHasToBeAProcessOrASandboxedApp() async throws {
        let stage = try await Stage([])
        let point = try await Point(stage)
        let nothing = UnixFD(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        let child = try ChildProcess("true")
        let dead = UnixFD(owning: clinux_pidfd_open(child.pid, 0))
        _ = await child.waitForExit()
        let invalid: [Value] = [
            .string("exe:/usr/bin/true"), .string("desktop:org.example.App"), .string("flatpak:"), .string(""),
            .uint32(1), .variant(.string("flatpak:org.example.App")), .unixFD(nothing),
        ]
        for who in invalid {
            for member in ["GetStatusFor", "GetAccessFor"] {
                #expect(await point.refusal(member, [.variant(who), .strings([])]) == "InvalidArguments final")
            }
            let request = EnforcementTests.request(who, "t")
            #expect(await point.refusal("RequestAccessFor", request) == "InvalidArguments final")
        }
        let request = EnforcementTests.request(.unixFD(dead), "t")
        #expect(await point.refusal("RequestAccessFor", request) == "NotFound final")
        await stage.end()
    }

    @Test func aRequestEndsWithItsProcess() async throws {
        let stage = try await Stage([])
        let (app, agent) = (try await stage.app(), try await stage.agent())
        let point = try await Point(stage)
        try await point.request(.unixFD(try await EnforcementTests.pidfd(app)), "t")
        try await agent.prompts.wait(for: 1)
        await app.end()
        try await agent.withdrawals.wait(for: 1)
        #expect(try await stage.history().first == "microphone withdrawn ")
        #expect(point.responses.all == [])
        await stage.end()
    }

    /// Its end does not count against the apps that it asked for.
    @Test func requestsEndWithTheirPoint() async throws {
        let stage = try await Stage([])
        let (app, agent) = (try await stage.app(), try await stage.agent())
        let who = Value.unixFD(try await EnforcementTests.pidfd(app))
        for number in 1...Limits.withdrawals {
            let point = try await Point(stage)
            try await point.request(who, "t")
            try await agent.prompts.wait(for: number)
            point.connection.close()
            try await agent.withdrawals.wait(for: number)
        }
        let point = try await Point(stage)
        try await point.request(who, "t")
        try await agent.prompts.wait(for: Limits.withdrawals + 1)
        await app.end()
        await stage.end()
    }

    @Test func requestsForTheSameAppShareAPrompt() async throws {
        let stage = try await Stage([])
        let (app, agent) = (try await stage.app(), try await stage.agent())
        let points = [try await Point(stage), try await Point(stage)]
        let who = Value.unixFD(try await EnforcementTests.pidfd(app))
        for point in points { try await point.request(who, "t") }
        let prompt = try await agent.prompts.wait(for: 1)[0]
        agent.answer(prompt, with: .grant(.once))
        for point in points { #expect(try await point.responses.wait(for: 1) == ["t 0 microphone=granted"]) }
        #expect(agent.prompts.all.count == 1)
        await app.end()
        await stage.end()
    }

    @Test func aPauseAndAMissingAgentAreReported() async throws {
        let stage = try await Stage([], settings: "[Prompts]\nNagLimit=1\nAgentWaitSec=1\n")
        let point = try await Point(stage)
        let who = EnforcementTests.app("org.example.App")
        try await point.request(who, "a")
        #expect(
            try await point.responses.wait(for: 1) == ["a 2 microphone=undetermined error org.permd.Error.NoAgent"])
        let changes = point.changes.all.count
        _ = try await stage.agent([.dismiss])
        try await point.changes.wait(for: changes + 1)
        try await point.request(who, "b")
        #expect(try await point.responses.wait(for: 2).last == "b 1 microphone=undetermined paused")
        try await point.request(who, "c")
        #expect(try await point.responses.wait(for: 3).last == "c 1 microphone=undetermined paused")
        _ = try await stage.reset("flatpak:org.example.App")
        try await point.changes.first("the end of the pause") { $0 == "flatpak:org.example.App " }
        await stage.end()
    }

    @Test func whomToAskIsASetting() async throws {
        let stage = try await Stage([])
        let point = try await Point(stage)
        func ask() async throws -> Value? {
            try await stage.call(
                StandardInterfaces.properties, "Get", [.string(BusNames.enforcement), .string("Ask")]
            ).first
        }
        #expect(try await ask() == .variant(.string("sandboxed")))
        try stage.permd.root.write("[Enforcement]\nAsk=all\n", to: "etc/permd/permd.conf")
        try await point.changes.first("the setting") { $0 == " " }
        #expect(try await ask() == .variant(.string("all")))
        await stage.end()
    }

    /// A bypass is no use.
    @Test func usesAreReported() async throws {
        let stage = try await Stage([])
        let (app, point) = (try await stage.app(), try await Point(stage))
        let uses = try await stage.signals(BusNames.usage)
        let who = Value.variant(.unixFD(try await EnforcementTests.pidfd(app)))
        func details(_ more: [String: Value] = [:]) -> Value {
            .properties(["source": .string("a-test"), "device_name": .string("Headset")].merging(more) { $1 })
        }
        let reported = try await point.call("ReportUse", [who, .string("microphone"), details()])
        let number = try #require(reported.first?.uint32Value)
        try await uses.first("the use") { $0.hasPrefix("UseStarted") }
        let row = try #require(try await stage.rows("ListUses", nil, BusNames.usage).first)
        #expect(row["app"] == .string(app.id.description) && row["source"] == .string("a-test"))
        #expect(row["pid"]?.uint32Value == UInt32(try await app.pid()) && row["status"] == .string("undetermined"))
        // Another point does not know it.
        let other = try await Point(stage)
        #expect(await other.refusal("EndUse", [.uint32(number)]) == "NotFound final")
        _ = try await point.call("EndUse", [.uint32(number)])
        try await uses.first("the end") { $0.hasPrefix("UseEnded \(number)") }
        let past = try await point.call(
            "ReportUse", [who, .string("microphone"), details(["bypassed": .bool(true)])])
        #expect(past == [.uint32(0)])
        #expect(try await stage.history() == ["microphone bypassed ", "microphone used "])
        // They end with the point.
        _ = try await point.call("ReportUse", [who, .string("camera"), details()])
        point.connection.close()
        try await uses.first("the second end") { $0.hasPrefix("UseEnded") && !$0.hasPrefix("UseEnded \(number)") }
        await app.end()
        await stage.end()
    }

    /// There is no process that it could end with.
    @Test func onceForAnAppEndsWithItsLastUse() async throws {
        let stage = try await Stage([])
        let point = try await Point(stage)
        let who = EnforcementTests.app("org.example.App")
        let agent = try await stage.agent([.grant(.once)])
        try await point.request(who, "t")
        #expect(try await point.responses.wait(for: 1) == ["t 0 microphone=granted"])
        let report: [Value] = [.variant(who), .string("microphone"), .properties(["source": .string("test")])]
        var numbers: [Value] = []
        for _ in 0..<2 { numbers += try await point.call("ReportUse", report) }
        _ = try await point.call("EndUse", [numbers[0]])
        #expect(try await point.status(who) == "granted")
        let changes = point.changes.all.count
        _ = try await point.call("EndUse", [numbers[1]])
        try await point.changes.wait(for: changes + 1)
        #expect(try await point.status(who) == "undetermined")
        #expect(try await point.access(who) == "ask exit")
        #expect(try await stage.decisions() == [])
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    /// An app's option of that name is one that permd does not know, of whatever type.
    @Test func theNameOfADeviceIsForPointsOnly() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let wrong: [String: Value] = ["device_name": .uint32(1)]
        _ = try await stage.call(BusNames.access, "RequestAccess", [.strings(["camera"]), .properties(wrong)])
        #expect(try await agent.prompts.wait(for: 1)[0].items.first?["device_name"] == .string("Mock Camera 0"))
        let point = try await Point(stage)
        let who = Value.variant(EnforcementTests.app("org.example.App"))
        let refusal = await point.refusal("RequestAccessFor", [who, .strings(["camera"]), .properties(wrong)])
        #expect(refusal == "InvalidArguments final")
        await stage.end()
    }

    @Test func pointsAreListed() async throws {
        let stage = try await Stage([])
        let (point, other) = (try await Point(stage), try await Point(stage))
        let rows = try await point.call("ListPoints").first?.rows ?? []
        #expect(
            Set(rows.compactMap { $0["owner"]?.stringValue })
                == [point.connection.uniqueName, other.connection.uniqueName])
        await stage.end()
    }
}
