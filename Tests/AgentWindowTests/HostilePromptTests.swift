// Hostile text and icons in a prompt: they must not change the window.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .serialized)
@LoopActor
struct HostilePromptTests {
    private static let texts = [
        "e" + String(repeating: "\u{301}", count: 500), String(repeating: "\u{FDFD}", count: 512),
        String(repeating: "界", count: 512), String(repeating: "W", count: 512),
        String(repeating: "👨\u{200D}👩\u{200D}👧\u{200D}", count: 100),
        String(repeating: "a\u{489}\u{20DD}\u{1D165}\u{0F39}\u{1ABE}", count: 100),
        String(repeating: "\u{202E}\u{2066}مرحبا", count: 80), String(repeating: "\u{12031}", count: 300),
        String(repeating: "ก็็็็็็็็", count: 60), String(repeating: "\u{1F469}", count: 512),
    ]

    /// The text comes directly from the owner of org.permd, without the daemon's filtering.
    @Test(arguments: ["1000x900", "360x640"])
    func theWindowKeepsItsSize(_ screen: String) async throws {
        let stage = try await AgentStage(screen: screen)
        let daemon = try await stage.hostileDaemon()
        try await stage.startAgent()
        let size = screen.split(separator: "x").compactMap { Int($0) }
        for (number, text) in HostilePromptTests.texts.enumerated() {
            let value = Value.string(text)
            async let outcome = daemon.prompt(
                number,
                [
                    "app": .string("exe:/\(text)"), "app_name": value, "waiting": .uint32(.max),
                    "items": .rows([["permission": .string("camera"), "device_name": value, "reason": value]]),
                ])
            _ = try await stage.awake("Never allow")
            try await stage.expectWhole(screen: (size[0], size[1]))
            try await stage.click("Never allow")
            #expect(try await outcome == "answered")
        }
        await daemon.end()
        await stage.end()
    }

    /// Other apps come and go behind a prompt, with any names: no button moves under the pointer.
    @Test(arguments: [100, 200])
    func whatWaitsMovesNothing(_ text: Int) async throws {
        let stage = try await AgentStage()
        try await stage.setTextSize(text)
        let daemon = try await stage.hostileDaemon()
        try await stage.startAgent()
        async let outcome = daemon.prompt(1, ["app": .string("flatpak:a"), "app_name": .string("App")])
        _ = try await stage.awake("Allow this time")
        func places() async throws -> [[Int]] {
            try await stage.widgets().filter { ["dialog", "alert", "button"].contains($0.role) }.map(\.place)
        }
        let before = try await places()
        for (index, name) in HostilePromptTests.texts.enumerated() {
            try await daemon.update(1, ["waiting": .uint32(UInt32(1000 + index)), "next": .strings([name, name])])
            try await stage.until("the line") {
                try await stage.labels().contains { $0.hasSuffix(" and \(998 + index) more") }
            }
            #expect(try await places() == before, "\(name)")
        }
        try await stage.click("Never allow")
        #expect(try await outcome == "answered")
        await daemon.end()
        await stage.end()
    }

    /// The camera that the prompt named is unplugged: the name of the other comes in its place, and answers pause.
    @Test func anotherDevice() async throws {
        let stage = try await AgentStage()
        let daemon = try await stage.hostileDaemon()
        try await stage.startAgent()
        func items(_ device: String) -> Value {
            .rows([["permission": .string("camera"), "device_name": .string(device)]])
        }
        async let outcome = daemon.prompt(1, ["app": .string("flatpak:a"), "items": items("Front Camera")])
        _ = try await stage.awake("Allow this time")
        #expect(try await stage.labels().contains("Front Camera"))
        try await daemon.update(1, ["items": items("Rear Camera")])
        try await stage.until("the other name") {
            let labels = try await stage.labels()
            return labels.contains("Rear Camera") && !labels.contains("Front Camera")
        }
        try await stage.click("Never allow")
        #expect(try await outcome == "answered")
        await daemon.end()
        await stage.end()
    }

    /// FIFOs, files of a few KB that expand to gigabytes of pixels or minutes of work, and files that are no images:
    /// the prompt can be answered as usual, and the agent's memory stays small.
    @Test func anIconCostsLittle() async throws {
        let folder = try TemporaryFolder()
        let stage = try await AgentStage()
        let maker = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "icons.py").path
        try await stage.run("/usr/bin/python3", maker, folder.path)
        let daemon = try await stage.hostileDaemon()
        try await stage.startAgent()
        for (number, icon) in [
            "good.png", "good.svg", "pixels.png", "text.png", "nested.svg", "use.svg", "filter.svg", "fifo",
            "large.png",
            "none",
        ].enumerated() {
            async let outcome = daemon.prompt(
                number, ["app": .string("exe:/a"), "app_icon": .string(folder.file(icon))])
            try await stage.click("Never allow")
            #expect(try await outcome == "answered", "\(icon)")
        }
        for (number, icon) in ["/dev/zero", "/proc/self/mem", "/", "../../etc/passwd", "no-such-icon"].enumerated() {
            async let outcome = daemon.prompt(
                100 + number, ["app": .string("exe:/a"), "app_icon": .string(icon)])
            try await stage.click("Never allow")
            #expect(try await outcome == "answered", "\(icon)")
        }
        let peak = try #require(try stage.agentsPeak())
        #expect(peak < 150 << 10, "\(peak) KB")
        await daemon.end()
        await stage.end()
    }

    /// The decoder writes the pixels of an icon, and nothing for other files, within its memory limit. Some versions of
    /// librsvg can draw the costly filter within the limits, and some of GdkPixbuf leave the chunks of text out.
    @Test(arguments: [
        ("good.png", true), ("good.svg", true), ("pixels.png", false), ("text.png", nil), ("use.svg", false),
        ("filter.svg", nil), ("fifo", false), ("large.png", false), ("none", false),
    ])
    func iconsAreDecodedWithinBounds(_ name: String, _ isIcon: Bool?) async throws {
        let folder = try TemporaryFolder()
        let maker = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "icons.py").path
        let making = try ChildProcess("/usr/bin/python3", [maker, folder.path, name])
        #expect(await making.waitForExit() == .exited(0))
        // Prints the size of the output and the child's peak memory in KB.
        let decoding = try ChildProcess(
            "/usr/bin/python3",
            [
                "-c",
                """
                import resource, subprocess, sys
                out = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
                print(len(out), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
                """, BuiltProgram.path("permd-agent"), "--decode-icon", folder.file(name),
            ])
        let numbers = await decoding.output().split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        #expect(await decoding.waitForExit() == .exited(0))
        try #require(numbers.count == 2)
        let sizes = [true: [8 + 96 * 96 * 4, 8 + 48 * 48 * 4], false: [0]]
        #expect((isIcon.flatMap { sizes[$0] } ?? sizes.values.flatMap(\.self)).contains(numbers[0]))
        #expect(numbers[1] < 200 << 10, "\(numbers[1]) KB")
    }
}
