// Panels and notification servers in a sandbox: they are told nothing, and keep nothing from the person.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct SandboxedOwnerTests {
    /// A program in a sandbox that owns a name, prints the calls it gets, and answers them.
    @LoopActor
    private final class Nosy {
        let heard = EventLog<String>()
        private let process: ChildProcess
        private let sandbox: FlatpakSandbox

        init(_ name: String, on stage: IndicatorStage) async throws {
            sandbox = try await FlatpakSandbox("org.example.Nosy", on: stage.permd.bus)
            let words = sandbox.command + ["/usr/bin/python3", "-I", "-c", Nosy.program, name]
            process = try ChildProcess(
                words[0], Array(words.dropFirst()),
                environment: stage.permd.environment.merging(sandbox.environment) { $1 })
            Task { [heard, lines = process.lines] in for await line in lines { heard.add(line) } }
            try await heard.wait(for: 1)
        }

        func end() { process.terminate(SIGKILL) }

        /// Get answers that something is true, and every other call that there is nothing.
        private static let program = """
            import dbus, dbus.lowlevel, sys
            from dbus.mainloop.glib import DBusGMainLoop
            from gi.repository import GLib
            DBusGMainLoop(set_as_default=True)
            bus = dbus.SessionBus()
            def heard(connection, message):
                if isinstance(message, dbus.lowlevel.MethodCallMessage):
                    print(message.get_member(), message.get_sender(), flush=True)
                    reply = dbus.lowlevel.MethodReturnMessage(message)
                    if message.get_member() == 'Get':
                        reply.append(True, signature='v')
                    else:
                        reply.append(dbus.Array([], signature='s'))
                    connection.send_message(reply)
            bus.add_message_filter(heard)
            bus.request_name(sys.argv[1])
            print('ready', flush=True)
            GLib.MainLoop().run()
            """
    }

    @Test func aNotificationServer() async throws {
        let stage = try await IndicatorStage()
        let nosy = try await Nosy(FakeNotifications.name, on: stage)
        try await stage.use()
        try await stage.owners.wait(for: 1)
        // It hears those who do not ask who it is.
        _ = try await stage.desk.call(
            .call(
                destination: FakeNotifications.name, path: "/org/freedesktop/Notifications",
                interface: FakeNotifications.name, member: "GetCapabilities"))
        try await nosy.heard.wait(for: 2)
        let gone = EventLog<String>()
        let watch = stage.desk.onOwnerChange(of: FakeNotifications.name) { if $0 == nil { gone.add("gone") } }
        nosy.end()
        try await gone.wait(for: 1)
        watch.cancel()
        let notifications = try FakeNotifications(stage.permd.bus)
        try await stage.use(.microphone)
        try await notifications.shown.first { plain($0.summary) == "Video Call is using your microphone" }
        #expect(nosy.heard.all == ["ready", "GetCapabilities \(stage.desk.uniqueName)"])
        await stage.end()
    }

    /// It says that it has a host, and would keep the notification from the person.
    @Test func aPanel() async throws {
        let stage = try await IndicatorStage()
        let nosy = try await Nosy(FakePanel.name, on: stage)
        let notifications = try FakeNotifications(stage.permd.bus)
        try await stage.use()
        let shown = try await notifications.shown.wait(for: 1)[0]
        #expect(plain(shown.summary) == "Video Call is using your camera")
        #expect(nosy.heard.all == ["ready"])
        nosy.end()
        await stage.end()
    }
}
