// Mock device nodes made with umockdev: which ones count, which are usable, and hotplugging.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct DeviceTests {
    private func list(_ stage: Stage, _ permission: String = "") async throws -> [[String: Value]] {
        try await stage.call(BusNames.devices, "ListDevices", [.string(permission)]).first?.rows ?? []
    }

    @Test func whichDevicesCount() async throws {
        let stage = try await Stage([.camera, .microphone, .bluetooth, .gnss])
        for kind in [MockDevices.Kind.metadata, .playback] { try await stage.devices.add(kind, 1) }
        try await stage.devices.add(.connection, 0)
        let rows = try await list(stage)
        #expect(
            rows.map { $0["permission"]?.stringValue ?? "" }.sorted() == [
                "bluetooth", "camera", "location", "microphone",
            ])
        for row in rows {
            #expect(row["usable"] == .bool(true) && row["problem"] == .string(""))
            #expect(row["id"]?.stringValue?.isEmpty == false && row["name"]?.stringValue?.isEmpty == false)
        }
        #expect(try await list(stage, "camera").map { $0["node"]?.stringValue } == ["/dev/video0"])
        #expect(try await list(stage, "bluetooth").map { $0["node"]?.stringValue } == [""])
        await stage.end()
    }

    @Test func devicesAreAddedAndRemoved() async throws {
        let stage = try await Stage([])
        let app = try await stage.app()
        #expect(try await app.status(.camera) == "ok camera=unavailable")
        let signals = try await stage.signals(BusNames.devices)
        try await stage.devices.add(.camera, 0, name: "Front Camera")
        let added = try await signals.first { $0.hasPrefix("DeviceAdded") }
        try await app.events.first { $0 == "status camera undetermined" }
        let row = try #require(try await list(stage, "camera").first)
        #expect(row["name"] == .string("Front Camera"))
        #expect(added == "DeviceAdded \(row["id"]?.stringValue ?? "")")
        try await stage.devices.remove(.camera, 0)
        try await signals.first { $0 == "DeviceRemoved camera \(row["id"]?.stringValue ?? "")" }
        try await app.events.first { $0 == "status camera unavailable" }
        #expect(try await list(stage).isEmpty)
        await stage.end()
    }

    @Test func unpluggedWhileItsPromptIsOnScreen() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let app = try await stage.app()
        try await app.request("t", [.camera])
        let prompt = try await agent.prompts.wait(for: 1)[0]
        try await stage.devices.remove(.camera, 0)
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=unavailable")
        try await agent.withdrawals.wait(for: 1)
        agent.answer(prompt, with: .grant(.always))
        try await stage.devices.add(.camera, 1)
        try await app.events.first { $0 == "status camera undetermined" }
        #expect(try await stage.decisions().isEmpty)
        #expect(try await stage.history(app.id) == ["camera unavailable "])
        await stage.end()
    }

    @Test func aGrantReturnsWithItsDevice() async throws {
        let stage = try await Stage()
        let app = try await stage.app()
        try await stage.set("grant", app.id, .camera)
        #expect(try await app.status(.camera) == "ok camera=granted")
        try await stage.devices.remove(.camera, 0)
        try await app.events.first { $0 == "status camera unavailable" }
        try await stage.devices.add(.camera, 1)
        try await app.events.first { $0 == "status camera granted" }
        await stage.end()
    }

    @Test func openedOnlyWhileGranted() async throws {
        let stage = try await Stage([.camera, .microphone, .bluetooth])
        let app = try await stage.app()
        #expect(try await app.ask("open bluetooth").hasPrefix("NotSupported final"))
        // An app without the grant does not learn whether there is a receiver.
        #expect(try await app.ask("open location").hasPrefix("NotGranted final"))
        try await stage.set("grant", app.id, .location)
        #expect(try await app.ask("open location").hasPrefix("NotSupported final"))
        #expect(try await app.ask("open camera").hasPrefix("NotGranted final"))
        // An app without the grant does not learn whether the device exists.
        #expect(try await app.ask("open camera /dev/video7").hasPrefix("NotGranted final"))
        try await stage.set("grant", app.id, .camera)
        #expect(try await app.ask("open camera /dev/video7").hasPrefix("NotFound final"))
        #expect(try await app.ask("open camera /dev/snd/pcmC0D0c").hasPrefix("NotFound final"))
        let id = try #require(try await list(stage, "camera").first?["id"]?.stringValue)
        for name in ["", "/dev/video0", id] {
            let opened = try await app.ask("open camera \(name)")
            #expect(opened.hasPrefix("ok descriptor id=\(id) name="), "\(opened)")
            #expect(opened.contains("node=/dev/video0") && opened.contains("writable=yes"))
        }
        try await stage.devices.setOpenable("/dev/video0", false)
        try await app.events.first { $0 == "status camera unavailable" }
        #expect(try await app.ask("open camera").hasPrefix("DeviceUnavailable retryable"))
        let row = try #require(try await list(stage, "camera").first)
        #expect(row["usable"] == .bool(false) && row["problem"]?.stringValue?.isEmpty == false)
        try await stage.set("deny", app.id, .camera)
        #expect(try await app.ask("open camera").hasPrefix("NotGranted final"))
        await stage.end()
    }

    @Test func rfkillBlocksAdapters() async throws {
        let stage = try await Stage([.bluetooth])
        let app = try await stage.app()
        #expect(try await app.status(.bluetooth) == "ok bluetooth=undetermined")
        try await stage.devices.setBlocked(adapter: 0, true)
        try await app.events.first { $0 == "status bluetooth unavailable" }
        #expect(try await list(stage, "bluetooth").first?["usable"] == .bool(false))
        try await stage.devices.setBlocked(adapter: 0, false)
        try await app.events.first { $0 == "status bluetooth undetermined" }
        await stage.end()
    }
}
