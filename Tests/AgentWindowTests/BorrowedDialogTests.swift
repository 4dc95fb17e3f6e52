// Dialogs of a portal backend: a scripted backend with the known peculiarities of desktops.

import DBus
import Foundation
import PermissionClient
import PermissionTestKit
import Testing

@testable import permd_agent

/// A portal backend that replies from a script, each reply after a delay on a manual clock.
@LoopActor
private final class FakeBackend {
    enum Reply: Sendable {
        case answer(UInt32, [String: Value], after: Int64)
        case error(String)
        /// Waits until the dialog is closed.
        case wait
        case vanish
    }

    static let name = "org.freedesktop.impl.portal.desktop.fake"

    let dialogs = EventLog<[Value]>()
    let closed = EventLog<String>()
    private let connection: Connection
    private let milliseconds: ManualClock
    private var script: [Reply]

    init(_ bus: PrivateBus, _ milliseconds: ManualClock, _ script: [Reply]) throws {
        self.milliseconds = milliseconds
        connection = try bus.connect()
        self.script = script
        guard try connection.requestName(FakeBackend.name) else { throw TestKitError("the name is taken") }
        connection.methodHandler = { [self] in handle($0) }
    }

    private func handle(_ message: Message) {
        guard message.member == "AccessDialog" else {
            closed.add(message.path ?? "")
            return connection.reply(to: message)
        }
        dialogs.add(message.body)
        switch script.isEmpty ? .wait : script.removeFirst() {
        case .answer(let response, let results, let delay):
            milliseconds.advance(by: delay)
            connection.reply(to: message, [.uint32(response), .properties(results)])
        case .error(let name): connection.reply(to: message, error: name, [.string("scripted")])
        case .wait: break
        case .vanish: connection.close()
        }
    }
}

@Suite(.timeLimit(.minutes(5)))
@LoopActor
struct BorrowedDialogTests {
    /// Milliseconds after which an answer counts as a person's.
    private nonisolated static let read: Int64 = 600

    nonisolated static func choice(_ word: String) -> Value {
        .array(of: "(ss)", [.structure([.string("duration"), .string(word)])])
    }

    private struct Bench {
        let permd: PermdProcess
        let devices: MockDevices
        let backend: FakeBackend
        let host: Task<Void, any Error>
        let app: TestApp

        func end() async {
            host.cancel()
            _ = await host.result
            await permd.end()
            await devices.stop()
        }
    }

    private func bench(_ script: [FakeBackend.Reply], settings: String = "") async throws -> Bench {
        let devices = try await MockDevices.start()
        try await devices.add(.camera, 0, name: "100% Camera")
        try await devices.add(.microphone, 0)
        let permd = try await PermdProcess(settings: settings, devices: devices)
        let milliseconds = ManualClock(0)
        let backend = try FakeBackend(permd.bus, milliseconds, script)
        let presenter = PortalPresenter(
            try permd.bus.connect(), PortalBackend(name: "fake", busName: FakeBackend.name)
        ) { milliseconds.now }
        let address = permd.bus.address
        let host = try await BorrowedDialogTests.host(presenter, on: address)
        return Bench(
            permd: permd, devices: devices, backend: backend, host: host, app: try await TestApp("app", on: permd))
    }

    @Test func allowedWithItsDuration() async throws {
        // Flat, as in the specification, and nested, as in portal-gtk.
        let results: [[String: Value]] = [
            ["choices": BorrowedDialogTests.choice("always")],
            ["results": .properties(["choices": BorrowedDialogTests.choice("session")])],
        ]
        let bench = try await bench(results.map { .answer(0, $0, after: BorrowedDialogTests.read) })
        try await bench.app.request("t", [.camera, .microphone], "reason=100%n")
        #expect(try await bench.app.response("t") == "0 refused= statuses=camera=granted microphone=granted")
        let settings = PermissionSettings(bus: .address(bench.permd.bus.address))
        #expect(try await settings.decisions().map(\.duration) == [.always, .session])
        let dialog = bench.backend.dialogs.all[0]
        #expect(dialog.map(\.signature).joined() == "osssssa{sv}")
        let texts = dialog.compactMap(\.stringValue)
        #expect(texts.contains { $0.contains("wants to use your camera") })
        #expect(texts.contains { $0.contains("100％ Camera") } && texts.contains { $0.contains("100％n") })
        #expect(!texts.contains { $0.contains("%") })
        let options = try #require(dialog.last?.properties)
        #expect(options["modal"] == .bool(true) && options["grant_label"] == .string("Allow"))
        #expect(options["choices"]?.signature == "a(ssa(ss)s)")
        await bench.end()
    }

    /// A portal's own question is passed on unchanged, and its choices are returned.
    @Test func aPortalsQuestionIsPassedOn() async throws {
        let results: [String: Value] = [
            "choices": .array(of: "(ss)", [.structure([.string("area"), .string("all")])])
        ]
        let bench = try await bench([.answer(0, results, after: BorrowedDialogTests.read)])
        let portal = try FakePortal(on: bench.permd.bus)
        let app = try bench.permd.bus.connect()
        let answer = await portal.ask(
            FakePortal.dialog(
                FakePortal.handle(app.uniqueName), icon: "applets-screenshooter-symbolic",
                options: [
                    "grant_label": .string("Take It"),
                    "choices": FakePortal.choices([
                        ("area", "How much", [("window", "Window"), ("all", "All")], "window"),
                        ("pointer", "Pointer", [], "true"),
                    ]),
                ]))
        #expect(answer == "0 area=all pointer=true")
        let dialog = bench.backend.dialogs.all[0]
        #expect(dialog.contains(.string("A title")))
        let options = try #require(dialog.last?.properties)
        #expect(options["grant_label"] == .string("Take It"))
        // There is no choice of duration: the portal stores the answer.
        #expect(options["choices"]?.elements?.count == 2)
        portal.end()
        app.close()
        await bench.end()
    }

    @Test func everyFormOfResults() {
        let forms: [[String: Value]] = [
            ["choices": BorrowedDialogTests.choice("always")],
            ["choices": .properties(["duration": .string("always")])],
            ["choices": .stringTable(["duration": "always"])], ["duration": .string("always")],
            ["results": .properties(["choices": BorrowedDialogTests.choice("always")])],
        ]
        for form in forms { #expect(BorrowedDialog.duration(of: .properties(form)) == .always, "\(form)") }
        for form in [[:], ["choices": .string("always")], ["other": BorrowedDialogTests.choice("ever")]]
            as [[String: Value]]
        {
            #expect(BorrowedDialog.duration(of: .properties(form)) == .once, "\(form)")
        }
        #expect(BorrowedDialog.duration(of: .uint32(1)) == .once)
    }

    /// KDE returns no choices.
    @Test func aMissingChoiceMeansOnce() async throws {
        let bench = try await bench([.answer(0, [:], after: BorrowedDialogTests.read)])
        try await bench.app.request("t", [.camera])
        #expect(try await bench.app.response("t") == "0 refused= statuses=camera=granted")
        let settings = PermissionSettings(bus: .address(bench.permd.bus.address))
        #expect(try await settings.decisions().map(\.duration) == [.once])
        await bench.end()
    }

    /// Escape is response 2 on some desktops and 1 on others; neither may deny permanently.
    @Test func escapeNeverDeniesPermanently() async throws {
        let bench = try await bench([
            .answer(2, [:], after: BorrowedDialogTests.read), .answer(1, [:], after: BorrowedDialogTests.read),
        ])
        try await bench.app.request("t", [.camera])
        #expect(try await bench.app.response("t") == "1 refused=camera statuses=camera=undetermined")
        try await bench.app.request("u", [.microphone])
        #expect(try await bench.app.response("u") == "0 refused=microphone statuses=microphone=denied")
        let settings = PermissionSettings(bus: .address(bench.permd.bus.address))
        #expect(try await settings.decisions().map(\.duration) == [.once])
        await bench.end()
    }

    /// The dialog is shown again after a grant or a cancellation faster than a person's, and after an error because
    /// another dialog is open.
    @Test func answersNotFromAPersonAreAskedAgain() async throws {
        let bench = try await bench([
            .answer(0, ["choices": BorrowedDialogTests.choice("always")], after: 0), .answer(2, [:], after: 0),
            .error("org.freedesktop.DBus.Error.LimitsExceeded"), .answer(1, [:], after: BorrowedDialogTests.read),
        ])
        try await bench.app.request("t", [.camera])
        #expect(try await bench.app.response("t") == "0 refused=camera statuses=camera=denied")
        #expect(bench.backend.dialogs.all.count == 4)
        await bench.end()
    }

    /// Starts an agent host; it is registered when this returns.
    private static func host(_ presenter: PortalPresenter, on address: String) async throws -> Task<Void, any Error> {
        let registered = EventLog<AgentEvent>()
        let host = Task {
            try await AgentHost(bus: .address(address), level: .fallback, presenter: presenter).run { event in
                Loop.shared.post { registered.add(event) }
            }
        }
        try await registered.wait(for: 1)
        return host
    }

    @Test func aBackendThatAlwaysAnswersAtOnceFails() async throws {
        let replies = [FakeBackend.Reply](repeating: .answer(0, [:], after: 0), count: PortalPresenter.tries)
        let bench = try await bench(replies, settings: "[Prompts]\nAgentWaitSec=1\n")
        try await bench.app.request("t", [.camera])
        #expect(try await bench.app.response("t").hasPrefix("2 error=org.permd.Error.NoAgent"))
        await bench.end()
    }

    @Test func theBackendExits() async throws {
        let bench = try await bench([.vanish], settings: "[Prompts]\nAgentWaitSec=1\n")
        try await bench.app.request("t", [.camera])
        #expect(try await bench.app.response("t").hasPrefix("2 error=org.permd.Error.NoAgent"))
        await bench.end()
    }

    /// A sandboxed program that takes the backend's name must not answer in the person's place.
    @Test(arguments: PrivateBus.Kind.allCases)
    func aSandboxedBackendIsNotAsked(_ kind: PrivateBus.Kind) async throws {
        let devices = try await MockDevices.start()
        try await devices.add(.camera, 0)
        let permd = try await PermdProcess(
            bus: try await PrivateBus(kind), settings: "[Prompts]\nAgentWaitSec=1\n", devices: devices)
        let liar = try await TestApp.flatpak("org.example.Liar", on: permd)
        #expect(try await liar.ask("be-backend \(FakeBackend.name)") == "ok")
        let milliseconds = ManualClock(0)
        let presenter = PortalPresenter(
            try permd.bus.connect(), PortalBackend(name: "fake", busName: FakeBackend.name)
        ) {
            milliseconds.advance(by: BorrowedDialogTests.read)
            return milliseconds.now
        }
        let address = permd.bus.address
        let host = try await BorrowedDialogTests.host(presenter, on: address)
        let app = try await TestApp("app", on: permd)
        try await app.request("t", [.camera])
        #expect(try await app.response("t").hasPrefix("2 error=org.permd.Error.NoAgent"))
        #expect(try await PermissionSettings(bus: .address(address)).decisions().isEmpty)
        host.cancel()
        _ = await host.result
        await liar.end()
        await permd.end()
        await devices.stop()
    }

    @Test func withdrawnDialogsAreClosed() async throws {
        let bench = try await bench([.wait])
        try await bench.app.request("t", [.camera])
        let dialog = try await bench.backend.dialogs.wait(for: 1)[0]
        _ = try await bench.app.ask("close t")
        #expect(try await bench.backend.closed.wait(for: 1)[0] == dialog[0].objectPathValue)
        await bench.end()
    }

    @Test func theExplanationIsASeparateDialog() async throws {
        let bench = try await bench([
            .answer(0, [:], after: BorrowedDialogTests.read), .answer(0, [:], after: BorrowedDialogTests.read),
            .answer(1, [:], after: BorrowedDialogTests.read),
        ])
        try await bench.app.request("t", [.camera], "explain")
        #expect(try await bench.app.response("t") == "0 refused= statuses=camera=granted")
        #expect(bench.backend.dialogs.all[0][3] == .string("A title"))
        #expect(bench.backend.dialogs.all[0].last?.properties?["choices"] == nil)
        // Not now at the explanation decides nothing.
        try await bench.app.request("u", [.microphone], "explain")
        #expect(try await bench.app.response("u") == "1 refused=microphone statuses=microphone=undetermined")
        await bench.end()
    }
}

@Suite
struct PortalBackendTests {
    private static func portal(_ busName: String, _ useIn: String, access: Bool = true) -> String {
        let interfaces = "org.freedesktop.impl.portal.FileChooser;" + (access ? "\(PortalBackends.access);" : "")
        return "[portal]\nDBusName=\(busName)\nInterfaces=\(interfaces)\nUseIn=\(useIn)\n"
    }

    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder(["conf", "data", "data/portals"])
        try folder.write(PortalBackendTests.portal("a.gtk", "gnome"), to: "data/portals/gtk.portal")
        try folder.write(PortalBackendTests.portal("a.kde", "KDE"), to: "data/portals/kde.portal")
        try folder.write(PortalBackendTests.portal("a.wlr", "sway", access: false), to: "data/portals/wlr.portal")
        try folder.write(PortalBackendTests.portal("a.phosh", "phosh"), to: "data/portals/phosh.portal")
        try folder.write(PortalBackendTests.portal(PortalBackends.own, "kde;gnome"), to: "data/portals/permd.portal")
    }

    private func find(_ desktops: String..., preferred: String? = nil) throws -> String? {
        if let preferred { try folder.write("[preferred]\n\(preferred)\n", to: "conf/portals.conf") }
        return PortalBackends(
            configuration: [folder.file("conf")], data: [folder.file("data")], desktops: desktops
        ).find()?.name
    }

    @Test func byTheDesktop() throws {
        #expect(try find("kde") == "kde")
        #expect(try find("gnome") == "gtk")
        #expect(try find("sway") == "gtk")
        #expect(try find() == "gtk")
    }

    @Test func byTheConfiguration() throws {
        #expect(try find("kde", preferred: "default=gtk") == "gtk")
        #expect(try find("kde", preferred: "default=gtk\n\(PortalBackends.access)=phosh;kde") == "phosh")
        #expect(try find("kde", preferred: "default=wlr;*") == "gtk")
        #expect(try find("kde", preferred: "default=none") == nil)
        // permd's own backend is never used: it would prompt through this agent again.
        #expect(try find("kde", preferred: "\(PortalBackends.access)=permd") == "kde")
    }

    @Test func theDesktopsOwnFileComesFirst() throws {
        try folder.write("[preferred]\ndefault=phosh\n", to: "conf/kde-portals.conf")
        #expect(try find("kde", preferred: "default=gtk") == "phosh")
    }

    /// FIFOs are skipped, because reading one could block forever. Symbolic links are followed.
    @Test func onlyRegularFilesAreRead() throws {
        mkfifo(folder.file("conf/portals.conf"), 0o600)
        mkfifo(folder.file("data/portals/aaa.portal"), 0o600)
        #expect(try find("kde") == "kde")
        unlink(folder.file("conf/portals.conf"))
        try folder.write("[preferred]\ndefault=gtk\n", to: "elsewhere")
        symlink(folder.file("elsewhere"), folder.file("conf/portals.conf"))
        #expect(try find("kde") == "gtk")
    }

    @Test func withoutABackend() {
        #expect(PortalBackends(configuration: [], data: ["/nonexistent"], desktops: []).find() == nil)
        #expect(PortalBackend(name: "phosh", busName: "x").isSystemModal)
        #expect(!PortalBackend(name: "gtk", busName: "x").isSystemModal)
    }
}
