// The program permd-indicator: its options, its name on the bus, and the setup of its process.

import DBus
import Glibc
import PermissionClient
import PermissionTexts

enum IndicatorProgram {
    private static let version = "0.1.0"

    /// Exit statuses of sysexits.h.
    private enum Exit {
        static let usage: Int32 = 64
        static let unavailable: Int32 = 69
    }

    private static let usage = """
        Usage: permd-indicator

        Shows which apps use the camera, the microphone or the location now: as an item of the panel, or in notifications
        where the panel has no place for items. Exits when nothing is in use.

          --help     print this help
          --version  print the version

        """

    static func main() -> Int32 {
        let arguments = Array(CommandLine.arguments.dropFirst())
        switch arguments {
        case []: break
        case ["--help"], ["-h"]:
            print(usage, terminator: "")
            return 0
        case ["--version"]:
            print("permd-indicator \(version)")
            return 0
        default:
            say("unknown arguments “\(arguments.joined(separator: " "))”\n\(usage)")
            return Exit.usage
        }
        Texts.bind()
        signal(SIGPIPE, SIG_IGN)
        Loop.shared.adoptCurrentThread()
        return LoopActor.assumeIsolated { run() }
    }

    @LoopActor
    private static func run() -> Int32 {
        var status: Int32 = 0
        do throws(BusError) {
            let connection = try Connection.open(.session)
            // Another one shows everything already.
            guard try connection.requestName(BusNames.indicatorService) else { return 0 }
            Loop.shared.onSignals([SIGTERM, SIGINT]) { _ in Loop.shared.stop() }
            // The session ends, or the bus restarts; permd starts an indicator again if one is needed.
            connection.onDisconnect { Loop.shared.stop() }
            let indicator = Indicator(connection) { problem in
                if let problem {
                    say(problem + "\n")
                    status = Exit.unavailable
                }
                Loop.shared.stop()
            }
            indicator.start()
            withExtendedLifetime(indicator) { Loop.shared.run() }
            connection.flush()
            return status
        } catch {
            say(error.message + "\n")
            return Exit.unavailable
        }
    }

    /// Writes to stderr in one call. A failure is ignored because it cannot be reported.
    private static func say(_ text: String) {
        var text = "permd-indicator: " + text
        text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
