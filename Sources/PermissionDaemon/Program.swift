// The program permd: its options and the setup of its process.

import DBus
import Glibc
import Journal
import Logging
import PermissionModel
import System

package enum Program {
    private static let usage = """
        Usage: permd [--root DIR]

        Asks the person before apps use the camera, the microphone, Bluetooth or the location.
        Serves org.permd on the session bus until SIGTERM; SIGHUP reads rules and settings again and rescans devices.

          --root DIR  read rules and settings under DIR instead of /
          --help      print this help
          --version   print the version

        """

    /// Runs the daemon with the process's arguments; returns its exit status.
    package static func main() -> Int32 {
        let options = ProgramOptions("permd", usage: usage, values: ["--root": "a folder"])
        let (values, status) = options.read(CommandLine.arguments)
        guard let values else { return status }
        let root = values["--root"] ?? "/"
        guard root.hasPrefix("/") else { return options.refuse("--root takes an absolute path, not \(quoted(root))") }
        // A closed log pipe or a file size limit should make a write fail, not kill permd.
        for harmless in [SIGPIPE, SIGXFSZ] { signal(harmless, SIG_IGN) }
        let descriptors = DescriptorLimit.raise()
        guard descriptors >= ProcessLimits.fewestDescriptors else {
            writeError(
                "permd: this process may have \(descriptors) file descriptors and needs \(ProcessLimits.fewestDescriptors); raise the limit with LimitNOFILE= in its unit or with ulimit -n\n"
            )
            return ExitStatus.osError
        }
        ProcessLimits.giveMemoryBack()
        Loop.shared.adoptCurrentThread()
        LoggingSystem.bootstrap { _ in JournalLogHandler(program: "permd") }
        let log = Logger(label: "permd")
        let daemon = LoopActor.assumeIsolated { Daemon(root: root, log: log) }
        LoopActor.assumeIsolated { daemon.start() }
        Loop.shared.run()
        return LoopActor.assumeIsolated { daemon.exitStatus }
    }
}
