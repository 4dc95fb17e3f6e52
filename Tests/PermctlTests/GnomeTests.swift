// What permctl doctor says about GNOME Shell.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct GnomeTests {
    /// GNOME Shell with an extension in the state of that number, or with none.
    private func shell(
        on stage: CommandStage, version: String = "48.7", state: Double?, error: String = "", allows: Bool = true
    ) throws -> FakeService {
        let service = try FakeService(on: stage.permd.bus)
        var info: [String: Value] = [:]
        if let state { info = ["state": .double(state), "error": .string(error)] }
        service.add(
            "org.gnome.Shell.Extensions", at: "/org/gnome/Shell",
            [
                Method(name: "GetExtensionInfo", inputs: ["uuid": "s"], outputs: ["info": "a{sv}"]) { call in
                    call.reply(.properties(call.arguments[0].stringValue == "permd@permd.org" ? info : [:]))
                }
            ],
            properties: [
                Property("ShellVersion", "s") { _ in .string(version) },
                Property("UserExtensionsEnabled", "b") { _ in .bool(allows) },
            ])
        try service.own("org.gnome.Shell")
        return service
    }

    @Test(
        arguments: [
            (1, "ok", "shows the prompts itself"), (2, "!!", "gnome-extensions enable permd@permd.org"),
            (6, "!!", "gnome-extensions enable permd@permd.org"), (3, "!!", "SyntaxError: \\u{1b}[31m"),
            (4, "!!", "does not support GNOME Shell 48.7"), (99, "--", "install permd-gnome"),
        ] as [(Double, String, String)])
    func aStateOfTheExtension(_ state: Double, _ mark: String, _ text: String) async throws {
        let stage = try await CommandStage()
        let agent = try await stage.agent()
        let shell = try shell(on: stage, state: state, error: "SyntaxError: \u{1b}[31m")
        let outcome = try await stage.run("doctor", environment: ["XDG_DATA_DIRS": "/nonexistent"])
        #expect(outcome.status == (mark == "!!" ? 1 : 0), "\(outcome.output)")
        let lines = outcome.lines.filter { $0.contains("  gnome") }
        #expect(lines.count == 1 && lines[0].hasPrefix(mark) && lines[0].contains(text), "\(lines)")
        withExtendedLifetime((agent, shell)) {}
        await stage.end()
    }

    @Test func extensionsAreDisabled() async throws {
        let stage = try await CommandStage()
        let shell = try shell(on: stage, state: 2, allows: false)
        let outcome = try await stage.run("doctor")
        #expect(outcome.output.contains("gsettings set org.gnome.shell disable-user-extensions false"))
        withExtendedLifetime(shell) {}
        await stage.end()
    }

    @Test func itWasInstalledSinceTheLogin() async throws {
        let stage = try await CommandStage()
        let shell = try shell(on: stage, state: nil)
        let data = try TemporaryFolder([
            "gnome-shell", "gnome-shell/extensions", "gnome-shell/extensions/permd@permd.org",
        ])
        let outcome = try await stage.run("doctor", environment: ["XDG_DATA_DIRS": data.path])
        #expect(outcome.lines.contains { $0.hasPrefix("!!  gnome") && $0.contains("log out and in") })
        withExtendedLifetime(shell) {}
        await stage.end()
    }

    /// A window is the best there is in these.
    @Test func olderShellsAndOtherDesktops() async throws {
        let stage = try await CommandStage()
        #expect(!(try await stage.run("doctor")).output.contains("gnome"))
        let shell = try shell(on: stage, version: "43.9", state: nil)
        #expect(!(try await stage.run("doctor")).output.contains("gnome"))
        withExtendedLifetime(shell) {}
        await stage.end()
    }
}
