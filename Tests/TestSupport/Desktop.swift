// A virtual X screen with a window manager and the built permd, and functions to see and use windows on it.

public import DBus
import Foundation
import PermissionTestKit

@LoopActor
open class Desktop: Session {
    private let server: XServer
    private var manager: ChildProcess?

    /// - Parameters:
    ///   - screen: The size of the screen in pixels.
    ///   - manager: The program that manages windows.
    package init(
        program: String, settings: String, rules: [String: String], environment extra: [String: String],
        screen: String = "1000x900", manager: String = "openbox"
    ) async throws {
        server = try await XServer(screen: screen)
        let display = ["DISPLAY": server.display]
        try await super.init(
            program: program, settings: settings, rules: rules, environment: display.merging(extra) { $1 })
        self.manager = try ChildProcess(manager, environment: environment, standardError: .null)
        // It gives the focus only to windows that open after it has started; until then, there is no desktop.
        try await until("the window manager") {
            Int(try await run("xdotool", "get_num_desktops").filter(\.isNumber)) ?? 0 > 0
        }
    }

    override open func end() async {
        manager?.terminate()
        server.end()
        await super.end()
    }

    // MARK: Reading windows

    /// The ID of the newest window that is shown; nil if there is none.
    package func window(of program: String? = nil) async throws -> String? {
        try await run("xdotool", "search", "--onlyvisible", "--class", program ?? self.program).split(separator: "\n")
            .last.map(String.init)
    }

    // MARK: Input

    /// Clicks in the middle of a widget.
    package func click(on widget: Widget) async throws {
        guard let window = try await window(), widget.place.count == 4 else { throw TestKitError("no window") }
        let x = widget.place[0] + widget.place[2] / 2
        let y = widget.place[1] + widget.place[3] / 2
        try await run("xdotool", "mousemove", "--window", window, "\(x)", "\(y)", "click", "1")
    }

    package func key(_ keys: String...) async throws {
        for key in keys { try await run("xdotool", "key", key) }
    }
}
