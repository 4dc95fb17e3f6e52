// The page of the last seven days.

import DBus
import PermissionClient
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .serialized)
@LoopActor
struct WeekPageTests {
    private func use(_ app: String, _ permission: Permission, on point: Connection) async throws -> Value {
        let call = Message.call(
            destination: BusNames.service, path: BusNames.root, interface: BusNames.enforcement, member: "ReportUse",
            [
                .variant(.string(app)), .string(permission.rawValue),
                .properties(["source": .string("test"), "device_name": .string("A device")]),
            ])
        return try await point.call(call).body[0]
    }

    private func end(_ use: Value, on point: Connection) async throws {
        let call = Message.call(
            destination: BusNames.service, path: BusNames.root, interface: BusNames.enforcement, member: "EndUse",
            [use])
        _ = try await point.call(call)
    }

    /// What goes on and what is over, without a grant first.
    @Test func whatAppsUsed() async throws {
        let stage = try await SettingsStage()
        let (call, tape) = ("flatpak:org.example.Call", "flatpak:org.example.Tape")
        try await stage.settings.set(.grant, app: call, permission: .microphone)
        try await stage.open()
        try await stage.press("Week", role: "page tab")
        try await stage.awaitLabel("Nothing Was Used")
        let point = try stage.permd.bus.connect()
        let granted = try await use(call, .microphone, on: point)
        try await stage.awaitLabel("With Your Permission")
        try await stage.awaitLabel("the use") { $0.hasPrefix("Microphone · once · ") && $0.hasSuffix(" · now") }
        try await stage.awaitNoLabel("Without Your Permission")
        let ungranted = try await use(tape, .camera, on: point)
        try await stage.awaitLabel("Without Your Permission")
        try await end(ungranted, on: point)
        try await stage.awaitLabel("the use") { $0.hasPrefix("Camera · once · ") && $0.contains(" s · last ") }
        // Once it is granted, one of two was without.
        try await stage.settings.set(.grant, app: tape, permission: .camera)
        try await end(try await use(tape, .camera, on: point), on: point)
        try await stage.awaitLabel("both") { $0.hasSuffix(" · 1 of them without your permission") }
        try await end(granted, on: point)
        try await stage.click("org.example.Tape")
        try await stage.awaitLabel("flatpak:org.example.Tape · In a sandbox")
        let complaints = await stage.complaints()
        #expect(complaints == [])
        point.close()
        await stage.end()
    }
}
