// The question and the buttons are visible as a whole, whatever the screen, the size of text, the language and the app.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

extension AgentStage {
    /// Checks that the window fits the screen (in the window's pixels), and that the question and all buttons are within
    /// it and beside each other.
    func expectWhole(
        screen: (width: Int, height: Int), _ language: Language = .english, _ what: String = ""
    ) async throws {
        let widgets = try await widgets()
        let frame = try #require(widgets.first { ["frame", "dialog", "alert"].contains($0.role) })
        #expect(frame.place[2] <= screen.width && frame.place[3] <= screen.height, "\(frame.place) \(what)")
        let question = try #require(widgets.first { $0.role == "label" && $0.name == frame.description }, "\(what)")
        let buttons = widgets.filter { $0.role == "button" && $0.name != language.details }
        #expect(buttons.count == 5 && buttons.contains { $0.name == language.deny }, "\(buttons) \(what)")
        // A question that is too wide is in a scrolled window of its own, which cuts it off.
        let index = try #require(widgets.firstIndex { $0.role == "label" && $0.name == frame.description })
        #expect(!widgets[(index - 2)..<index].contains { $0.role == "scroll pane" }, "\(what)")
        let shown = [question] + buttons
        for (index, part) in shown.enumerated() {
            let place = part.place
            #expect(place[2] > 0 && place[3] > 0, "\(part) \(what)")
            #expect(place[0] >= 0 && place[0] + place[2] <= frame.place[2], "\(part) in \(frame.place) \(what)")
            #expect(place[1] >= 0 && place[1] + place[3] <= frame.place[3], "\(part) in \(frame.place) \(what)")
            for other in shown[(index + 1)...] {
                let apart =
                    place[0] + place[2] <= other.place[0] || other.place[0] + other.place[2] <= place[0]
                    || place[1] + place[3] <= other.place[1] || other.place[1] + other.place[3] <= place[1]
                #expect(apart, "\(part) covers \(other) \(what)")
            }
        }
    }
}

/// Labels in a language.
struct Language: Sendable {
    let code: String
    /// The label of the button that refuses.
    let deny: String
    /// The label of the details.
    let details: String

    static let english = Language(code: "en", deny: "Never allow", details: "Details")
    static let german = Language(code: "de", deny: "Nie erlauben", details: "Einzelheiten")
    static let japanese = Language(code: "ja", deny: "今後も許可しない", details: "詳細")

    /// Written from right to left. The agent has no texts in it, so they are English.
    static let arabic = Language(code: "ar", deny: "Never allow", details: "Details")
}

@Suite(.timeLimit(.minutes(15)))
@LoopActor
struct LayoutTests {
    /// A short name, a long one, one that cannot be broken, one from right to left, and very wide characters.
    private static let names = [
        "Video Call", String(repeating: "Wunderbare Kamera ", count: 4), String(repeating: "W", count: 80),
        "مكالمة فيديو " + String(repeating: "طويلة ", count: 10), String(repeating: "\u{FDFD}", count: 40),
    ]

    private static func details(_ number: Int, _ name: String, isFull: Bool) -> [String: Value] {
        let asked = isFull ? Permission.allCases : [.camera]
        let items: [[String: Value]] = asked.map {
            [
                "permission": .string($0.rawValue), "device_name": .string("Device \(number)"),
                "reason": .string(isFull ? String(repeating: "for good reasons ", count: 30) : "because"),
            ]
        }
        var details: [String: Value] = [
            "app": .string("exe:/\(name)"), "app_name": .string(name), "items": .rows(items),
        ]
        guard isFull else { return details }
        details["explanation"] = .structure([.string(name), .string(String(repeating: name, count: 3))])
        details["pause"] = .uint32(600)
        details["next"] = .strings([name, name])
        details["waiting"] = .uint32(7)
        return details
    }

    /// The screen in pixels, the scale at which it is used, and the size of text in percent.
    @Test(arguments: [("360x480", 1), ("720x960", 2), ("1000x900", 1)], [100, 200])
    func theQuestionAndTheButtonsAreWhole(_ screen: (size: String, scale: Int), _ text: Int) async throws {
        let stage = try await AgentStage(environment: ["GDK_SCALE": "\(screen.scale)"], screen: screen.size)
        try await stage.setTextSize(text)
        let size = screen.size.split(separator: "x").compactMap { Int($0) }.map { $0 / screen.scale }
        try await expectWhole(stage, (size[0], size[1]), LayoutTests.names, "\(screen), \(text) %")
    }

    /// The same on a Wayland compositor, with the names that are the hardest to break.
    @Test(arguments: [1, 2], [100, 200])
    func theyAreWholeUnderWayland(_ scale: Int, _ text: Int) async throws {
        let stage = try await AgentStage()
        try await stage.startCompositor(width: 360, height: 480, scale: scale, text: text)
        try await expectWhole(stage, (360, 480), Array(LayoutTests.names[1...2]), "Wayland, scale \(scale), \(text) %")
    }

    private func expectWhole(
        _ stage: AgentStage, _ screen: (width: Int, height: Int), _ names: [String], _ what: String
    ) async throws {
        let daemon = try await stage.hostileDaemon()
        var number = 0
        for (index, language) in [Language.english, .german, .japanese, .arabic].enumerated() {
            let translation = try await Translation(language.code)
            stage.environment.merge(translation.environment) { $1 }
            try await stage.startAgent()
            try await daemon.agents.wait(for: index + 1)
            for name in names {
                for isFull in [false, true] {
                    number += 1
                    let details = LayoutTests.details(number, name, isFull: isFull)
                    // An agent does not reply to a prompt that was withdrawn.
                    Task { [number] in try await daemon.prompt(number, details) }
                    try await stage.until("prompt \(number)") { try await stage.labels().contains("Device \(number)") }
                    try await stage.expectWhole(
                        screen: screen, language, "\(language.code), \(what), \(isFull ? "all" : "one") for \(name)")
                    try await daemon.withdraw(number)
                }
            }
            let complaints = await stage.complaints()
            #expect(complaints.isEmpty, "\(complaints)")
            withExtendedLifetime(translation) {}
        }
        await daemon.end()
        await stage.end()
    }
}
