// The program permd-pipewire: its options and the setup of its process.

import CPipeWire
import CSystemd
import DBus
import Glibc

enum PipeWireProgram {
    private static let version = "0.1.0"

    /// Exit statuses of sysexits.h.
    private enum Exit {
        static let usage: Int32 = 64
        static let unavailable: Int32 = 69
    }

    private static let usage = """
        Usage: permd-pipewire

        Asks permd before apps that record through PipeWire or a PulseAudio server get anything of a microphone or camera.
        Runs until SIGTERM.

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
            print("permd-pipewire \(version)")
            return 0
        default:
            LogLine.write("permd-pipewire: unknown arguments “\(arguments.joined(separator: " "))”\n\(usage)")
            return Exit.usage
        }
        signal(SIGPIPE, SIG_IGN)
        pw_init(nil, nil)
        Loop.shared.adoptCurrentThread()
        return LoopActor.assumeIsolated { run() }
    }

    @LoopActor
    private static func run() -> Int32 {
        let log = LogLine()
        let enforcer = Enforcer(log: log)
        Loop.shared.onSignals([SIGTERM, SIGINT]) { _ in
            sd_notify(0, "STOPPING=1")
            enforcer.stop()
            Loop.shared.stop()
        }
        enforcer.whenReady = {
            sd_notify(0, "READY=1\nSTATUS=Watching who records")
            log.notice("ready: the clients of PipeWire are dealt with")
        }
        do throws(BusError) { try enforcer.start() } catch {
            log.error(error.message)
            return Exit.unavailable
        }
        Loop.shared.run()
        return 0
    }
}
