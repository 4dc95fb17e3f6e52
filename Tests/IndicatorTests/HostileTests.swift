// Hostile names of apps, and callers and owners of names that are in a sandbox.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct HostileTests {
    @Test func names() async throws {
        let names = [
            "org.example.A": "_Access__key_", "org.example.B": "<b>Bold</b> & <a href=\"x\">link</a>",
            "org.example.C": String(repeating: "long ", count: 2000), "org.example.D": "\u{202E}evil\u{2066} עברית",
            "org.example.E": "",
        ]
        let stage = try await IndicatorStage(names: names)
        let panel = try await FakePanel(stage.permd.bus)
        let notifications = try FakeNotifications(stage.permd.bus)
        for id in names.keys.sorted() { try await stage.use(by: "flatpak:\(id)") }
        let item = try await panel.item()
        try await panel.waitForMenu(of: item) { $0.count == 16 }
        let texts = try await panel.texts(of: item)
        #expect(texts.contains("Stop __Access____key__"))
        #expect(texts.contains("Stop <b>Bold</b> & <a href=\"x\">link</a>"))
        #expect(texts.contains("Stop evil עברית"))
        #expect(texts.contains("Stop org.example.E"))
        #expect(texts.allSatisfy { $0.unicodeScalars.count < 150 })
        let tooltip = try await panel.tooltip(of: item)
        #expect(tooltip.contains("\u{2039}b\u{203A}Bold\u{2039}/b\u{203A} & ") && !tooltip.contains("<"))
        // The same names in notifications.
        panel.connection.close()
        try await stage.use(.microphone, by: "flatpak:org.example.B")
        let shown = try await notifications.shown.first { $0.summary.contains("microphone") }
        #expect(plain(shown.summary) == "<b>Bold</b> & <a href=\"x\">link</a> is using your microphone")
        #expect(!shown.body.contains("<"))
        await stage.end()
    }

    /// More apps than a menu has a place for.
    @Test func manyApps() async throws {
        let stage = try await IndicatorStage(names: [:])
        let panel = try await FakePanel(stage.permd.bus)
        for number in 10..<30 { try await stage.use(by: "flatpak:org.example.App\(number)") }
        let item = try await panel.item()
        try await panel.waitForMenu(of: item) { $0.contains("(12 more)") }
        let texts = try await panel.texts(of: item)
        #expect(texts.contains("(12 more)") && texts.count == 8 * 3 + 3)
        let tooltip = try await panel.tooltip(of: item)
        let first = (10..<14).map { "org.example.App\($0)" }.joined(separator: ", ")
        #expect(tooltip == "Camera: \(first) and 16 more")
        await stage.end()
    }

    /// A sandboxed program that can reach the item neither sees nor chooses anything.
    @Test(arguments: PrivateBus.Kind.allCases)
    func aSandboxedCaller(_ kind: PrivateBus.Kind) async throws {
        let stage = try await IndicatorStage(kind: kind)
        let panel = try await FakePanel(stage.permd.bus)
        try await stage.use()
        let item = try await panel.item()
        let sandbox = try await FlatpakSandbox("org.example.Nosy", on: stage.permd.bus)
        let stop = try #require(try await panel.menu(of: item).first { $0.text.hasPrefix("Stop") })
        let calls = [
            ["/MenuBar", "com.canonical.dbusmenu.GetLayout", "int32:0", "int32:-1", "array:string:"],
            [
                "/MenuBar", "com.canonical.dbusmenu.Event", "int32:\(stop.id)", "string:clicked", "variant:int32:0",
                "uint32:0",
            ],
            [
                "/StatusNotifierItem", "org.freedesktop.DBus.Properties.Get", "string:org.kde.StatusNotifierItem",
                "string:ToolTip",
            ],
        ]
        for call in calls {
            let words = sandbox.command + ["dbus-send", "--session", "--print-reply", "--dest=\(item)"] + call
            let child = try ChildProcess(
                words[0], Array(words.dropFirst()),
                environment: stage.permd.environment.merging(sandbox.environment) { $1 }, standardError: .pipe)
            var errors = ""
            for await line in child.errorLines { errors += line }
            #expect(await child.waitForExit() == .exited(1) && errors.contains("AccessDenied"), "\(call): \(errors)")
        }
        #expect(try await stage.decisions() == [])
        // The same click from outside counts.
        let changes = try await stage.decisionChanges()
        try await panel.click(stop.id, of: item)
        try await changes.wait(for: 1)
        await stage.end()
    }
}
