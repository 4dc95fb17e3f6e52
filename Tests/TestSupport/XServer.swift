// A virtual X screen.

package import DBus
package import PermissionTestKit

@LoopActor
package final class XServer {
    /// The value of `DISPLAY`.
    package let display: String
    private let process: ChildProcess

    /// - Parameter screen: The size of the screen in pixels.
    package convenience init(screen: String) async throws {
        try await self.init("Xvfb", ["-screen", "0", "\(screen)x24"])
    }

    /// With outputs DUMMY0 and so on, which `xrandr` plugs in and out.
    /// - Parameter folder: For its configuration and log.
    package convenience init(outputsIn folder: TemporaryFolder) async throws {
        let configuration = try folder.write(
            """
            Section "Device"
                Identifier "none"
                Driver "dummy"
                VideoRam 65536
            EndSection
            Section "Screen"
                Identifier "none"
                Device "none"
                DefaultDepth 24
            EndSection
            Section "ServerFlags"
                Option "AutoAddDevices" "false"
                Option "AutoAddGPU" "false"
            EndSection

            """, to: "xorg.conf")
        // The program Xorg on the path may be a wrapper that asks who is at the console.
        try await self.init(
            "/usr/lib/xorg/Xorg",
            ["-config", configuration, "-logfile", folder.file("xorg.log"), "-novtswitch", "-sharevts"])
    }

    private init(_ program: String, _ arguments: [String]) async throws {
        process = try ChildProcess(
            program, arguments + ["-displayfd", "1", "-nolisten", "tcp", "-noreset"], environment: [:],
            standardError: .null)
        // It prints its display number when it is ready.
        var number = ""
        for await line in process.lines {
            number = line
            break
        }
        display = ":\(number)"
    }

    package func end() { process.terminate() }
}
