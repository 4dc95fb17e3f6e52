// permd as the agent of a GeoClue that a test controls.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct LocationAgentTests {
    /// GeoClue on a bus of its own that replaces the system bus, and permd.
    @LoopActor
    private final class Bench {
        let system: PrivateBus
        let stage: Stage
        private let deviceGuard: FakeGuard
        private var geoClue: FakeService?
        /// The unique names of those that have called AddAgent, each with its ID.
        let agents = EventLog<(name: String, id: String)>()
        /// What its MaxAccuracyLevel changes to.
        let levels = EventLog<UInt32>()

        init(gate: Bool = false) async throws {
            let deviceGuard = try await FakeGuard(isThere: gate, name: BusNames.locationGateService)
            (system, self.deviceGuard) = (deviceGuard.bus, deviceGuard)
            stage = try await Stage(environment: deviceGuard.environment)
            try run()
        }

        func run() throws {
            let service = try FakeService(on: system)
            service.add(
                "org.freedesktop.GeoClue2.Manager", at: "/org/freedesktop/GeoClue2/Manager",
                [
                    Method(name: "AddAgent", inputs: ["id": "s"], outputs: [:]) { [unowned self] call in
                        agents.add((call.sender, call.arguments[0].stringValue ?? ""))
                        call.reply()
                    }
                ])
            service.connection.onSignal(member: "PropertiesChanged", addMatch: false) { [unowned self] signal in
                if let level = signal.body[1].properties?["MaxAccuracyLevel"]?.uint32Value { levels.add(level) }
            }
            try service.own("org.freedesktop.GeoClue2")
            geoClue = service
        }

        func restart() async throws {
            await geoClue?.end()
            try run()
        }

        /// What the newest agent says, as `authorized level`, or an error's name.
        func authorize(_ app: String, level: UInt32 = 5, from other: Connection? = nil) async throws -> String {
            let agent = try #require(agents.all.last).name
            let call = Message.call(
                destination: agent, path: "/org/freedesktop/GeoClue2/Agent",
                interface: "org.freedesktop.GeoClue2.Agent", member: "AuthorizeApp",
                [.string(app), .uint32(level)])
            let connection = try #require(other ?? geoClue?.connection)
            do throws(BusError) {
                let reply = try await connection.call(call).body
                return "\(reply[0].boolValue ?? false) \(reply[1].uint32Value ?? 99)"
            } catch {
                return error.name
            }
        }

        func end() async {
            await stage.end()
            await geoClue?.end()
            await deviceGuard.stop()
        }
    }

    @Test func aSandboxedAppIsAskedAbout() async throws {
        let bench = try await Bench()
        _ = try await bench.agents.wait(for: 1)
        let agent = try await bench.stage.agent([.deny(.always), .grant(.always)])
        #expect(try await bench.authorize("org.example.Maps") == "false 0")
        #expect(try await bench.authorize("org.example.Maps") == "false 0")
        #expect(try await bench.authorize("org.example.Weather", level: 4) == "true 4")
        #expect(try await bench.authorize("org.example.Weather", level: 8) == "true 8")
        #expect(agent.prompts.all.map(\.app) == ["flatpak:org.example.Maps", "flatpak:org.example.Weather"])
        // An ID that flatpak would not give.
        #expect(try await bench.authorize("a/b") == "false 0")
        let stranger = try bench.system.connect()
        #expect(try await bench.authorize("org.example.Weather", from: stranger) == ErrorKind.accessDenied.name)
        stranger.close()
        await bench.end()
    }

    @Test func nobodyIsLocatedWhileItIsOff() async throws {
        let bench = try await Bench()
        _ = try await bench.agents.wait(for: 1)
        _ = try await bench.stage.call(BusNames.policy, "SetSwitch", [.string("location"), .bool(false)])
        #expect(try await bench.levels.wait(for: 1) == [0])
        #expect(try await bench.authorize("org.example.Maps") == "false 0")
        _ = try await bench.stage.call(BusNames.policy, "SetSwitch", [.string("location"), .bool(true)])
        #expect(try await bench.levels.wait(for: 2) == [0, 8])
        await bench.end()
    }

    /// Whoever gets past the gate was asked about there.
    @Test func nobodyIsAskedTwice() async throws {
        let bench = try await Bench(gate: true)
        _ = try await bench.agents.wait(for: 1)
        #expect(try await bench.authorize("org.example.Maps") == "true 5")
        await bench.end()
    }

    @Test func itRegistersWithTheNextGeoClue() async throws {
        let bench = try await Bench()
        _ = try await bench.agents.wait(for: 1)
        try await bench.restart()
        _ = try await bench.agents.wait(for: 2)
        // When an agent leaves, GeoClue may have none. Which connections are agents, GeoClue alone knows.
        try bench.system.connect().close()
        let agents = try await bench.agents.wait(for: 3)
        #expect(Set(agents.map(\.name)).count == 1 && Set(agents.map(\.id)) == ["geoclue-demo-agent"])
        await bench.end()
    }

    @Test func aDesktopWithItsOwnAgentKeepsIt() async throws {
        let bench = try await Bench()
        _ = try await bench.agents.wait(for: 1)
        let shell = try FakeService(on: bench.stage.permd.bus)
        try shell.own("org.gnome.Shell")
        try await bench.restart()
        // Sent after whatever the new GeoClue led to.
        _ = try await bench.stage.call(BusNames.policy, "SetSwitch", [.string("location"), .bool(false)])
        #expect(try await bench.levels.wait(for: 1) == [0])
        #expect(bench.agents.all.count == 1)
        await shell.end()
        await bench.end()
    }
}
