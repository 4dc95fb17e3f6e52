// Portal apps in the window: the real portal's calls one after the other, and a portal's choices.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(5)), .serialized)
@LoopActor
struct PortalWindowTests {
    private static let backends = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "portal").path

    @Test func twoRealPortalCallsComeOneAfterTheOther() async throws {
        let bench = try await WindowBench()
        try await bench.startAgent()
        let portal = try await DesktopPortal(
            on: bench.permd, backends: PortalWindowTests.backends, environment: ["XDG_CURRENT_DESKTOP": "permd"])
        let first = try await TestApp.flatpak("org.example.First", on: bench.permd)
        let second = try await TestApp.flatpak("org.example.Second", on: bench.permd)
        #expect(try await first.ask("camera a").hasPrefix("ok"))
        #expect(try await second.ask("camera b").hasPrefix("ok"))
        var answered: [String] = []
        for _ in 0..<2 {
            // One window, with one app in it: the one that was not answered yet.
            var shown = ""
            try await bench.until("the next app") {
                let labels = try await bench.labels()
                let apps = ["First", "Second"].filter { name in labels.contains { $0.contains("org.example.\(name)") } }
                shown = apps.first ?? ""
                return apps.count == 1 && !answered.contains(shown)
            }
            answered.append(shown)
            try await bench.click("Only This Time")
            let app = shown == "First" ? (first, "a") : (second, "b")
            #expect(try await app.0.response(app.1) == "0 ")
        }
        try await bench.until("the window's end") { try await bench.window() == nil }
        await first.end()
        await second.end()
        await portal.end()
        await bench.end()
    }

    @Test func aPortalsChoicesAreShownAndSelected() async throws {
        let bench = try await WindowBench()
        try await bench.startAgent()
        let portal = try bench.permd.bus.connect()
        _ = try portal.requestName(BusNames.portal)
        let app = try bench.permd.bus.connect()
        let sender = app.uniqueName.dropFirst().map { $0 == "." ? "_" : String($0) }.joined()
        func pair(_ id: String, _ label: String) -> Value { .structure([.string(id), .string(label)]) }
        let answers = EventLog<[Value]>()
        portal.call(
            .call(
                destination: BusNames.portalBackend, path: BusNames.portalRoot, interface: BusNames.portalAccess,
                member: "AccessDialog",
                [
                    .objectPath("\(BusNames.portalRequestRoot)/\(sender)/t"), .string(""), .string(""),
                    .string("Allow a %n screenshot?"), .string("To show <b>it</b>"), .string("The portal keeps this."),
                    .properties([
                        "icon": .string("applets-screenshooter-symbolic"), "grant_label": .string("Take It"),
                        "deny_label": .string("Never"),
                        "choices": .array(
                            of: "(ssa(ss)s)",
                            [
                                .structure([
                                    .string("area"), .string("How much"),
                                    .array(of: "(ss)", [pair("window", "The window"), pair("all", "Everything")]),
                                    .string("window"),
                                ]),
                                .structure([
                                    .string("pointer"), .string("With the pointer"), .array(of: "(ss)", []),
                                    .string("false"),
                                ]),
                            ]),
                    ]),
                ]), timeoutMilliseconds: nil
        ) { reply in answers.add((try? reply.get())?.body ?? []) }

        _ = try await bench.awake("Take It")
        let labels = try await bench.labels()
        for text in [
            "Allow a %n screenshot?", "The request says: “To show <b>it</b> The portal keeps this.”", "How much",
        ] { #expect(labels.contains(text), "\(text) is not in \(labels)") }
        let buttons = try await bench.widgets().filter { $0.role == "push button" }.map(\.name)
        #expect(buttons.prefix(2) == ["Never", "Take It"] && buttons.contains("Not Now"))
        try await bench.click("Everything", role: "radio button")
        try await bench.click("With the pointer", role: "check box")
        try await bench.click("Take It")
        let answer = try await answers.wait(for: 1)[0]
        #expect(answer.first == .uint32(0))
        #expect(
            answer.last?.properties?["choices"]?.elements == [pair("area", "all"), pair("pointer", "true")])
        portal.close()
        app.close()
        await bench.end()
    }
}
