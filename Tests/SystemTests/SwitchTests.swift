// Permissions that a person has switched off for every app.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct SwitchTests {
    private static func turn(_ permission: String, on: Bool, _ stage: Stage) async throws(BusError) {
        _ = try await stage.call(BusNames.policy, "SetSwitch", [.string(permission), .bool(on)])
    }

    private static func switches(_ stage: Stage) async throws -> [String: Bool] {
        let body = try await stage.call(
            StandardInterfaces.properties, "Get", [.string(BusNames.policy), .string("Switches")])
        guard case .variant(.dictionary("s", "b", let entries))? = body.first else { return [:] }
        var table: [String: Bool] = [:]
        for entry in entries { table[entry.key.stringValue ?? "?"] = entry.value.boolValue }
        return table
    }

    private static func isOff(_ permission: Permission, _ stage: Stage) async throws -> Bool {
        let switches = try await switches(stage)
        #expect(Set(switches.keys) == Set(Permission.allCases.map(\.rawValue)))
        return switches[permission.rawValue] == false
    }

    @Test func offIsDeniedToEveryAppUntilItIsOnAgain() async throws {
        let stage = try await Stage(rules: [
            "10-kiosk.conf": "[Rule kiosk]\nApps=exe:/kiosk\nPermissions=camera\nAction=grant"
        ])
        let signals = try await stage.signals(BusNames.policy)
        let app = try await stage.app()
        try await stage.set("grant", app.id, .camera)
        #expect(try await app.status(.camera) == "ok camera=granted")
        #expect(try await !SwitchTests.isOff(.camera, stage))
        try await SwitchTests.turn("camera", on: false, stage)
        try await app.events.first { $0 == "status camera denied" }
        #expect(try await SwitchTests.isOff(.camera, stage))
        #expect(try await !SwitchTests.isOff(.microphone, stage))
        #expect(try await app.status(.microphone) == "ok microphone=undetermined")
        // Nobody is asked, the decision stays, and the rule does not count.
        let agent = try await stage.agent()
        try await app.request("off", [.camera])
        #expect(try await app.response("off") == "0 refused=camera statuses=camera=denied")
        #expect(agent.prompts.all.isEmpty)
        #expect(try await stage.decisions() == ["\(app.id) camera grant always"])
        let kiosk = try await stage.rows(
            "ListStatuses", ["app": .string("exe:/kiosk"), "permission": .string("camera")])
        #expect(kiosk.map { $0["status"] } == [.string("denied")])
        try await SwitchTests.turn("camera", on: true, stage)
        try await app.events.first { $0 == "status camera granted" }
        #expect(try await app.status(.camera) == "ok camera=granted")
        #expect(signals.all.filter { $0.hasPrefix("SwitchChanged camera") }.count == 2)
        // Once again changes nothing, and is no event.
        try await SwitchTests.turn("camera", on: true, stage)
        #expect(signals.all.filter { $0.hasPrefix("SwitchChanged camera") }.count == 2)
        let rows = try await stage.rows("ListHistory").filter { $0["app"] == .string("") }
        #expect(rows.map { $0["outcome"] } == [.string("on"), .string("off")])
        #expect(rows.allSatisfy { $0["by"] == .string("person") && $0["permission"] == .string("camera") })
        await stage.end()
    }

    @Test func whatWaitsIsAnsweredAndNoDeviceIsHandedOut() async throws {
        let stage = try await Stage()
        let app = try await stage.app()
        let agent = try await stage.agent()
        try await app.request("waits", [.camera, .microphone])
        try await agent.prompts.first { _ in true }
        try await SwitchTests.turn("camera", on: false, stage)
        // The microphone is still to be answered.
        try await SwitchTests.turn("microphone", on: false, stage)
        try await agent.withdrawals.first { _ in true }
        #expect(try await app.response("waits") == "0 refused=camera statuses=camera=denied microphone=denied")
        #expect(try await app.ask("open camera").hasPrefix("NotGranted final"))
        await stage.end()
    }

    @Test func aRestrictionComesFirst() async throws {
        let stage = try await Stage(rules: ["10-no.conf": "[Rule no]\nApps=*\nPermissions=camera\nAction=restrict"])
        let app = try await stage.app()
        try await SwitchTests.turn("camera", on: false, stage)
        #expect(try await app.status(.camera) == "ok camera=restricted")
        await stage.end()
    }

    @Test func itOutlivesKills() async throws {
        let stage = try await Stage()
        try await SwitchTests.turn("microphone", on: false, stage)
        await stage.permd.stop(SIGKILL)
        try await stage.permd.start()
        #expect(try await SwitchTests.isOff(.microphone, stage))
        let app = try await stage.app()
        #expect(try await app.status(.microphone) == "ok microphone=denied")
        await stage.end()
    }

    @Test func whoMayNot() async throws {
        let stage = try await Stage()
        #expect(
            await stage.refusal(BusNames.policy, "SetSwitch", [.string("door"), .bool(false)])
                == "InvalidArguments final")
        #expect(try await SwitchTests.switches(stage).values.allSatisfy(\.self))
        await stage.end()
    }
}
