// The window of prompts on an X server: its place, and the keyboard, which it takes only in a pause.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@testable import permd_agent

@Suite(.timeLimit(.minutes(3)))
struct X11WindowTests {
    private static let monitor = X11Monitor(left: 1000, top: 100, width: 800, height: 600)

    /// The middle of the other window, and the corner of one of 200 by 100.
    nonisolated static let corners: [((Int32, Int32), (Int32, Int32)?)] = [
        ((1400, 400), (1300, 350)), ((1000, 100), (1000, 100)), ((1799, 699), (1600, 600)), ((1100, 150), (1000, 100)),
        ((1101, 151), (1001, 101)), ((1700, 650), (1600, 600)), ((1699, 649), (1599, 599)),
        ((999, 400), nil), ((1800, 400), nil), ((1400, 99), nil), ((1400, 700), nil),
    ]

    @Test(arguments: corners.indices)
    func theWindowIsInTheMiddleWithinTheMonitor(_ index: Int) {
        let (point, expected) = X11WindowTests.corners[index]
        let corner = X11WindowTests.monitor.corner(200, 100, around: point.0, point.1)
        #expect(corner?.x == expected?.0 && corner?.y == expected?.1, "\(String(describing: corner)) at \(point)")
    }

    @Test func aWindowThatIsLargerThanTheMonitorBeginsAtItsCorner() {
        let corner = X11WindowTests.monitor.corner(900, 700, around: 1400, 400)
        #expect(corner?.x == 1000 && corner?.y == 100)
    }

    @Test(
        arguments: [
            ("x11:1a", 26), ("x11:FFFFFFFF", 0xFFFF_FFFF), ("x11:0", nil), ("x11:100000000", nil), ("x11:", nil),
            ("x11:zz", nil), ("x11:-1", nil), ("wayland:1a", nil), ("1a", nil), ("", nil),
        ] as [(String, UInt?)])
    func aParentNamesAnX11Window(_ parent: String, _ expected: UInt?) {
        #expect(X11Window.identifier(parent) == expected)
    }

    /// Who types on after the window has taken the keyboard, types into the window that had it.
    @Test @LoopActor
    func theKeyboardIsTakenInAPauseAndReturned() async throws {
        let stage = try await AgentStage()
        try await stage.startAgent()
        let settings = try ChildProcess(
            BuiltProgram.path("permd-settings"), environment: stage.environment, standardError: .null)
        try await stage.until("the other window") { try await stage.window(of: "org.permd.Settings") != nil }
        let other = try #require(try await stage.window(of: "org.permd.Settings"))
        func otherHasFocus() async throws -> Bool {
            try await stage.run("xdotool", "getwindowfocus").filter(\.isNumber) == other
        }
        try await stage.until("its keyboard") { try await otherHasFocus() }
        let app = try await TestApp("app", on: stage.permd)
        try await app.request("t", [.camera])
        try await stage.until("the prompt's keyboard") { try await stage.hasFocus() }
        try await stage.key("x")
        try await stage.until("the other window's keyboard") { try await otherHasFocus() }
        #expect(try await stage.window() != nil && !app.events.all.contains { $0.hasPrefix("response") })
        settings.terminate()
        await stage.end()
    }
}
