// permctl setup: what it offers, what it does, and what doctor says to do first.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct SetupTests {
    /// GNOME Shell whose extension is disabled until it is enabled.
    @LoopActor
    private final class Shell {
        let service: FakeService
        var isEnabled = false

        init(on bus: PrivateBus) throws {
            service = try FakeService(on: bus)
            service.add(
                "org.gnome.Shell.Extensions", at: "/org/gnome/Shell",
                [
                    Method(name: "GetExtensionInfo", inputs: ["uuid": "s"], outputs: ["info": "a{sv}"]) {
                        [weak self] call in
                        call.reply(.properties(["state": .double(self?.isEnabled == true ? 1 : 2)]))
                    },
                    Method(name: "EnableExtension", inputs: ["uuid": "s"], outputs: ["success": "b"]) {
                        [weak self] call in
                        self?.isEnabled = call.arguments[0].stringValue == "permd@permd.org"
                        call.reply(.bool(self?.isEnabled ?? false))
                    },
                ],
                properties: [
                    Property("ShellVersion", "s") { _ in .string("48.7") },
                    Property("UserExtensionsEnabled", "b") { _ in .bool(true) },
                ])
            try service.own("org.gnome.Shell")
        }
    }

    private func environment(_ place: PortalPlace, _ stage: CommandStage) -> [String: String] {
        place.environment.merging(stage.permd.environment) { $1 }
    }

    @Test func everyStepIsDone() async throws {
        let stage = try await CommandStage()
        let (agent, shell) = (try await stage.agent(), try Shell(on: stage.permd.bus))
        let place = try PortalPlace(version: "1.20.3")
        let environment = environment(place, stage)
        let before = try await stage.run("doctor", environment: environment)
        #expect(before.lines.last == "First: run permctl setup (GNOME's extension, portals)")
        let asked = try await stage.run("setup", environment: environment)
        #expect(asked.status == 64 && asked.errors.contains("--yes"))
        #expect(!shell.isEnabled)
        let done = try await stage.run("setup", "--yes", environment: environment)
        #expect(done.status == 0, "\(done)")
        #expect(shell.isEnabled)
        #expect(done.lines.first == "GNOME Shell shows the prompts")
        #expect(done.lines.suffix(2).first == "portals ask through permd")
        #expect(done.lines.last == "Everything is set up; permctl doctor shows what there is.")
        let after = try await stage.run("doctor", environment: environment)
        #expect(after.status == 0 && !after.output.contains("First:"), "\(after)")
        let again = try await stage.run("setup", "--json", environment: environment)
        #expect(again.status == 0 && again.output == "[]\n")
        withExtendedLifetime((agent, shell)) {}
        await stage.end()
    }

    @Test func eachStepIsAskedAbout() async throws {
        let stage = try await CommandStage()
        let (agent, shell) = (try await stage.agent(), try Shell(on: stage.permd.bus))
        let place = try PortalPlace(version: "1.20.3")
        let screen = try await Screen(stage, variables: environment(place, stage), command: "permctl setup; cat")
        try await screen.shows("above every window? [Y/n]")
        try await screen.type("n", "Enter")
        try await screen.shows("for flatpaks, browsers and other apps? [Y/n]")
        try await screen.type("Enter")
        try await screen.shows("Next: run permctl setup (GNOME's extension)")
        #expect(!shell.isEnabled)
        withExtendedLifetime((agent, shell)) {}
        await screen.end()
        await stage.end()
    }

    @Test func aFailedStepIsTold() async throws {
        let stage = try await CommandStage()
        let agent = try await stage.agent()
        let place = try PortalPlace(version: "1.20.3")
        try FileManager.default.removeItem(
            atPath: place.folder.file("usr/share/xdg-desktop-portal/portals/permd.portal"))
        let failed = try await stage.run("setup", "--yes", "--json", environment: environment(place, stage))
        #expect(failed.status == 1)
        let record = try #require(try objects(failed.output).first)
        #expect(record["step"] as? String == "portals" && record["result"] as? String == "failed")
        #expect((record["text"] as? String)?.contains("permd.portal is missing") == true)
        withExtendedLifetime(agent) {}
        await stage.end()
    }

    /// What asks comes first: without it the rest is of no use.
    @Test func theAgentComesFirst() async throws {
        let stage = try await CommandStage()
        let place = try PortalPlace(version: "1.20.3")
        let ill = try await stage.run("doctor", environment: environment(place, stage))
        #expect(ill.lines.last?.hasPrefix("First: run permctl agent in a terminal") == true, "\(ill.output)")
        await stage.end()
    }
}
