// The agent of the extension for GNOME Shell, with stubs in place of the shell.

import DBus
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct GnomeAgentTests {
    private static let dialog = """
        export const dialogs = [];

        export class PromptDialog {
            constructor() {
                Object.assign(this, {outcome: 'answered', decisions: {}});
                dialogs.push(this);
            }

            connect(signal, body) {
                this[signal] = body;
            }

            end() {}
        }
        """

    /// The call of a prompt is answered once, and an answer is never that to another prompt.
    @Test func anAnswerAfterTheEndCountsForNothing() async throws {
        let folder = try TemporaryFolder()
        let extensionFolder = "\(Installer.project)/gnome-shell/permd@permd.org"
        let copy = try ChildProcess(
            "cp", ["\(extensionFolder)/agent.js", "\(extensionFolder)/details.js", folder.path])
        #expect(await copy.waitForExit() == .exited(0))
        try folder.write(GnomeAgentTests.dialog, to: "prompt.js")
        try folder.write("export class Pause {\n    cancel() {}\n}\n", to: "pause.js")
        try folder.write("export class InputDelay {}\n", to: "inputDelay.js")
        let bus = try await PrivateBus()
        let agent = try ChildProcess(
            "gjs", ["-m", "\(Installer.project)/Tests/SystemTests/gnome-agent.js", folder.path],
            environment: ["DBUS_SESSION_BUS_ADDRESS": bus.address])
        #expect(await agent.output() == "first: the app has left\nwithdrawal: done\nsecond: answered\n")
        #expect(await agent.waitForExit() == .exited(0))
        await bus.end()
    }
}
