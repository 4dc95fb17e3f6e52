// The program permd-pipewire: its options and the setup of its process.

import CPipeWire
import CSystemd
import DBus
import Glibc
import Journal
import Logging
import System

enum PipeWireProgram {
    private static let usage = """
        Usage: permd-pipewire

        Asks permd before apps that record through PipeWire or a PulseAudio server get anything of a microphone or camera.
        Runs until SIGTERM.

          --help     print this help
          --version  print the version

        """

    static func main() -> Int32 {
        let (values, status) = ProgramOptions("permd-pipewire", usage: usage).read(CommandLine.arguments)
        guard values != nil else { return status }
        signal(SIGPIPE, SIG_IGN)
        DescriptorLimit.raise()
        pw_init(nil, nil)
        Loop.shared.adoptCurrentThread()
        return LoopActor.assumeIsolated { run() }
    }

    @LoopActor
    private static func run() -> Int32 {
        LoggingSystem.bootstrap { _ in JournalLogHandler(program: "permd-pipewire") }
        let log = Logger(label: "permd-pipewire")
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
        var status: Int32 = 0
        onLoop {
            do { try await enforcer.start() } catch {
                log.error("\(error)")
                status = ExitStatus.unavailable
                Loop.shared.stop()
            }
        }
        Loop.shared.run()
        return status
    }
}
