// The program permd-indicator: its options, its name on the bus, and the setup of its process.

import DBus
import Glibc
import PermissionClient
import PermissionTexts
import System

enum IndicatorProgram {
    private static let usage = """
        Usage: permd-indicator

        Shows which apps use the camera, the microphone or the location now: as an item of the panel, or in notifications
        where the panel has no place for items. Exits when nothing is in use.

          --help     print this help
          --version  print the version

        """

    static func main() -> Int32 {
        let (values, status) = ProgramOptions("permd-indicator", usage: usage).read(CommandLine.arguments)
        guard values != nil else { return status }
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
            // The desktop's own may take over, also as soon as this one has the name.
            connection.onOwnerChange(of: BusNames.indicatorService) { owner in
                if let owner, owner != connection.uniqueName { Loop.shared.stop() }
            }
            // Another one shows everything already.
            guard try connection.requestName(BusNames.indicatorService, isReplaceable: true) else { return 0 }
            Loop.shared.onSignals([SIGTERM, SIGINT]) { _ in Loop.shared.stop() }
            // The session ends, or the bus restarts; permd starts an indicator again if one is needed.
            connection.onDisconnect { Loop.shared.stop() }
            let indicator = Indicator(connection) { problem in
                if let problem {
                    writeError("permd-indicator: \(SafeText.line(problem))\n")
                    status = ExitStatus.unavailable
                }
                Loop.shared.stop()
            }
            indicator.start()
            withExtendedLifetime(indicator) { Loop.shared.run() }
            connection.flush()
            return status
        } catch {
            writeError("permd-indicator: \(SafeText.line(error.message))\n")
            return ExitStatus.unavailable
        }
    }
}
