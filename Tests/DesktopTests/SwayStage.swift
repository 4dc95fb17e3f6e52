// sway without a screen and without devices: the test brings its own keyboard and pointer.

import DBus
import Foundation
import PermissionTestKit
import TestSupport

@LoopActor
final class SwayStage: DesktopStage {
    private var sway: ChildProcess?

    override init() async throws {
        try await super.init()
        let configuration = try folder.write("output * bg #224466 solid_color\n", to: "sway.conf")
        let runtime = environment["XDG_RUNTIME_DIR"] ?? ""
        environment["SWAYSOCK"] = "\(runtime)/sway"
        environment["WLR_BACKENDS"] = "headless"
        environment["WLR_RENDERER"] = "pixman"
        environment["WLR_LIBINPUT_NO_DEVICES"] = "1"
        sway = try ChildProcess(
            "sway", ["--config", configuration], environment: environment, standardOutput: .null,
            standardError: .null)
        try await until("sway") {
            FileManager.default.fileExists(atPath: "\(runtime)/sway")
                && FileManager.default.fileExists(atPath: "\(runtime)/wayland-1")
        }
        environment["WAYLAND_DISPLAY"] = "wayland-1"
        environment["GDK_BACKEND"] = "wayland"
    }

    override func end() async {
        sway?.terminate()
        await super.end()
    }
}
