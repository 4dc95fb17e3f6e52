// An app leads the person to its own page of the settings program.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct OpenSettingsTests {
    /// A settings program, and the pages that were opened: the app and the activation token.
    private func program(on stage: Stage) throws -> (service: FakeService, pages: EventLog<String>) {
        let pages = EventLog<String>()
        let service = try FakeService(on: stage.permd.bus)
        let open = Method(
            name: "ActivateAction", inputs: ["name": "s", "parameter": "av", "platform": "a{sv}"], outputs: [:]
        ) { call in
            guard case .array(_, let values) = call.arguments[1], case .variant(let app)? = values.first else { return }
            let token = call.arguments[2].properties?["activation-token"]?.stringValue ?? ""
            pages.add("\(call.arguments[0].stringValue ?? "") \(app.stringValue ?? "") \(token)")
            call.reply()
        }
        service.add("org.freedesktop.Application", at: "/org/permd/Settings", [open])
        try service.own(BusNames.settingsService)
        return (service, pages)
    }

    @Test func anAppsOwnPageOpens() async throws {
        let stage = try await Stage()
        let flatpak = try await TestApp.flatpak("org.example.Call", on: stage.permd)
        #expect(try await flatpak.ask("settings").hasPrefix("NotSupported final"))
        let (service, pages) = try program(on: stage)
        let app = try await stage.app()
        #expect(try await app.ask("settings") == "ok")
        #expect(try await pages.wait(for: 1) == ["app \(app.id) token"])
        // However often an app asks, others are not affected.
        for _ in 0..<3 { #expect(try await app.ask("settings").hasPrefix("LimitExceeded retryable")) }
        let other = try await TestApp.flatpak("org.example.Other", on: stage.permd)
        #expect(try await other.ask("settings") == "ok")
        #expect(try await pages.wait(for: 2).last == "app flatpak:org.example.Other token")
        await service.end()
        await stage.end()
    }

    @Test func notWhileNobodyIsThere() async throws {
        let logind = try await FakeLogind()
        logind.add("1", isLocked: true)
        let stage = try await Stage(environment: logind.environment)
        let (service, pages) = try program(on: stage)
        let app = try await stage.app()
        #expect(try await app.ask("settings").hasPrefix("NoAgent retryable"))
        #expect(pages.all.isEmpty)
        await service.end()
        await stage.end()
        await logind.stop()
    }
}
