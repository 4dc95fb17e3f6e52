// The window follows the desktop's appearance.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .serialized)
@LoopActor
struct ThemeTests {
    /// What a person or the system may have set; GTK reports errors in style sheets on stderr.
    @Test(arguments: ["gtk-theme-name=HighContrast", "gtk-application-prefer-dark-theme=1", "gtk-theme-name=Missing"])
    func aPromptIsAnsweredInAnyTheme(_ settings: String) async throws {
        let folder = try TemporaryFolder(["config", "config/gtk-4.0"])
        try folder.write("[Settings]\n\(settings)\n", to: "config/gtk-4.0/settings.ini")
        let stage = try await AgentStage(environment: ["XDG_CONFIG_HOME": folder.file("config")])
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera, .microphone], "explain")
        try await stage.click("Never allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied microphone=denied")
        let complaints = await stage.complaints()
        // libadwaita warns of the setting that its own way of choosing dark colors replaces.
        #expect(complaints.allSatisfy { $0.contains("gtk-application-prefer-dark-theme") }, "\(complaints)")
        await stage.end()
    }

    /// The desktop's appearance is followed, also while a prompt is shown, and nonsense is ignored.
    @Test func theDesktopsAppearance() async throws {
        let stage = try await AgentStage()
        let portal = try SettingsPortal(on: stage.permd.bus)
        portal.values = ["color-scheme": .uint32(1), "contrast": .uint32(1)]
        try await stage.startAgent()
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        _ = try await stage.awake("Allow this time")
        let dark = try await stage.color(of: "Permission request")
        #expect(dark.count == 3 && dark.allSatisfy { $0 < 100 }, "\(dark)")
        portal.change("contrast", .uint32(7))
        portal.change("color-scheme", .uint32(2))
        try await stage.until("light colors") {
            let light = try await stage.color(of: "Permission request")
            return light.count == 3 && light.allSatisfy { $0 > 200 }
        }
        try await stage.click("Never allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        await portal.end()
        await stage.end()
    }
}

/// org.freedesktop.portal.Settings.
@LoopActor
private final class SettingsPortal {
    private static let interface = "org.freedesktop.portal.Settings"
    private static let namespace = "org.freedesktop.appearance"

    var values: [String: Value] = [:]
    private let service: FakeService

    init(on bus: PrivateBus) throws {
        service = try FakeService(on: bus)
        // Older libraries call Read, newer ones ReadAll.
        service.add(
            SettingsPortal.interface, at: BusNames.portalRoot,
            [
                Method(name: "Read", inputs: ["namespace": "s", "key": "s"], outputs: ["value": "v"]) {
                    [unowned self] call in
                    guard call.arguments[0] == .string(SettingsPortal.namespace),
                        let value = values[call.arguments[1].stringValue ?? ""]
                    else { return call.fail(name: "org.freedesktop.portal.Error.NotFound", body: [.string("none")]) }
                    call.reply(.variant(.variant(value)))
                },
                Method(name: "ReadAll", inputs: ["namespaces": "as"], outputs: ["value": "a{sa{sv}}"]) {
                    [unowned self] call in
                    let entry = DictionaryEntry(.string(SettingsPortal.namespace), .properties(values))
                    call.reply(.dictionary(key: "s", value: "a{sv}", [entry]))
                },
            ])
        try service.own(BusNames.portal)
    }

    func change(_ key: String, _ value: Value) {
        service.connection.send(
            .signal(
                path: BusNames.portalRoot, interface: SettingsPortal.interface, member: "SettingChanged",
                [.string(SettingsPortal.namespace), .string(key), .variant(value)]))
    }

    func end() async { await service.end() }
}
