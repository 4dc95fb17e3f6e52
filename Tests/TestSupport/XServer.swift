// A virtual X screen.

public import DBus
import PermissionTestKit

@LoopActor
public final class XServer {
    /// The value of `DISPLAY`.
    public let display: String
    private let process: ChildProcess

    /// - Parameter screen: The size of the screen in pixels.
    public init(screen: String) async throws {
        process = try ChildProcess(
            "Xvfb", ["-displayfd", "1", "-screen", "0", "\(screen)x24", "-nolisten", "tcp", "-noreset"],
            environment: [:], standardError: .null)
        // Xvfb prints its display number when it is ready.
        var number = ""
        for await line in process.lines {
            number = line
            break
        }
        display = ":\(number)"
    }

    public func end() { process.terminate() }
}
