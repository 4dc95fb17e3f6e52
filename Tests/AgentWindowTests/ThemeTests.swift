// The window in different themes.

import DBus
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(5)), .serialized)
@LoopActor
struct ThemeTests {
    /// A third-party theme, with a background that is easy to see.
    private static let foreign = "window { background-color: #ff0000; } button { background-image: none; }"

    @Test(arguments: [
        ("", ""), ("gtk-theme-name=Adwaita", ""), ("gtk-application-prefer-dark-theme=1", ""),
        ("gtk-theme-name=HighContrast", ""), ("gtk-theme-name=Foreign", ""), ("gtk-theme-name=Missing", ""),
        ("", "Adwaita:dark"),
    ])
    func aPromptIsAnsweredInAnyTheme(_ settings: String, _ chosen: String) async throws {
        let folder = try TemporaryFolder([
            "config", "config/gtk-4.0", "data", "data/themes", "data/themes/Foreign", "data/themes/Foreign/gtk-4.0",
        ])
        try folder.write("[Settings]\n\(settings)\n", to: "config/gtk-4.0/settings.ini")
        try folder.write(ThemeTests.foreign, to: "data/themes/Foreign/gtk-4.0/gtk.css")
        let bench = try await WindowBench(environment: [
            "XDG_CONFIG_HOME": folder.file("config"), "XDG_DATA_HOME": folder.file("data"), "GTK_THEME": chosen,
        ])
        try await bench.startAgent()
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera, .microphone], "explain")
        try await bench.click("Don't allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied microphone=denied")
        // GTK reports errors in style sheets on stderr.
        let complaints = await bench.complaints()
        #expect(complaints.isEmpty)
        await bench.end()
    }

    /// The desktop's appearance is followed, also while a prompt is shown, and nonsense is ignored.
    @Test func theDesktopsAppearance() async throws {
        let bench = try await WindowBench()
        let portal = try SettingsPortal(on: bench.permd.bus)
        portal.values = [
            "color-scheme": .uint32(1), "contrast": .uint32(1), "reduced-motion": .uint32(1),
            "accent-color": .structure([.double(0.9), .double(0.1), .double(0.1)]),
        ]
        try await bench.startAgent()
        try await portal.reads.wait(for: 1)
        let app = try await TestApp("app", on: bench.permd)
        try await app.request("t", [.camera])
        _ = try await bench.awake("Allow")
        let accent = try await bench.color(of: "Allow")
        #expect(accent == [230, 26, 26], "\(accent)")
        let dark = try await bench.color(of: "Permission request")
        #expect(dark.allSatisfy { $0 < 100 }, "\(dark)")
        portal.change("accent-color", .structure([.double(7), .double(-1), .double(0)]))
        portal.change("contrast", .string("much"))
        portal.change("color-scheme", .uint32(2))
        try await bench.until("light colors") {
            try await bench.color(of: "Permission request").allSatisfy { $0 > 200 }
        }
        try await bench.click("Don't allow")
        #expect(try await app.response("t") == "0 refused=camera statuses=camera=denied")
        #expect(await bench.complaints().isEmpty)
        portal.end()
        await bench.end()
    }
}

/// org.freedesktop.portal.Settings.
@LoopActor
private final class SettingsPortal {
    private static let interface = "org.freedesktop.portal.Settings"
    private static let namespace = "org.freedesktop.appearance"

    var values: [String: Value] = [:]
    let reads = EventLog<Void>()
    private let service: FakeService

    init(on bus: PrivateBus) throws {
        service = try FakeService(on: bus)
        service.add(
            SettingsPortal.interface, at: BusNames.portalRoot,
            [
                Method(
                    name: "ReadAll", inputs: ["namespaces": "as"], outputs: ["value": "a{sa{sv}}"]
                ) { [unowned self] call in
                    let entry = DictionaryEntry(.string(SettingsPortal.namespace), .properties(values))
                    call.reply(.dictionary(key: "s", value: "a{sv}", [entry]))
                    reads.add(())
                }
            ])
        try service.own(BusNames.portal)
    }

    func change(_ key: String, _ value: Value) {
        service.connection.send(
            .signal(
                path: BusNames.portalRoot, interface: SettingsPortal.interface, member: "SettingChanged",
                [.string(SettingsPortal.namespace), .string(key), .variant(value)]))
    }

    func end() { service.end() }
}
