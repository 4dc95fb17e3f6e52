// The program permd: its options and the setup of its process.

import DBus
import Glibc
import Logging
import PermissionModel
import System

public enum Program {
    static let version = "0.1.0"

    /// Exit statuses of sysexits.h.
    enum Exit {
        static let usage: Int32 = 64
        static let unavailable: Int32 = 69
        static let osError: Int32 = 71
    }

    private static let usage = """
        Usage: permd [--root DIR]

        Asks the person before apps use the camera, the microphone, Bluetooth or the location.
        Serves org.permd on the session bus until SIGTERM; SIGHUP reads rules and settings again and rescans devices.

          --root DIR  read rules and settings under DIR instead of /
          --help      print this help
          --version   print the version

        """

    /// Runs the daemon with the process's arguments; returns its exit status.
    public static func main() -> Int32 {
        let root: String
        switch parse(CommandLine.arguments) {
        case .run(let directory): root = directory
        case .say(let text):
            print(text, terminator: "")
            return 0
        case .usage(let problem):
            writeError("permd: \(problem)\n\(usage)")
            return Exit.usage
        }
        // A closed log pipe or a file size limit should make a write fail, not kill permd.
        for harmless in [SIGPIPE, SIGXFSZ] { signal(harmless, SIG_IGN) }
        let descriptors = ProcessLimits.raiseDescriptors()
        guard descriptors >= ProcessLimits.fewestDescriptors else {
            writeError(
                "permd: this process may have \(descriptors) file descriptors and needs \(ProcessLimits.fewestDescriptors); raise the limit with LimitNOFILE= in its unit or with ulimit -n\n"
            )
            return Exit.osError
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

    enum Command: Equatable {
        case run(root: String)
        case say(String)
        case usage(String)
    }

    static func parse(_ arguments: [String]) -> Command {
        var root = "/"
        var rest = arguments.dropFirst()
        while let argument = rest.popFirst() {
            switch argument {
            case "--help", "-h": return .say(usage)
            case "--version": return .say("permd \(version)\n")
            case "--root":
                guard let directory = rest.popFirst() else { return .usage("--root needs a folder") }
                root = directory
            case let text where text.hasPrefix("--root="): root = String(text.dropFirst("--root=".count))
            default: return .usage("unknown argument \(quoted(argument))")
            }
        }
        guard root.hasPrefix("/") else { return .usage("--root needs an absolute path, not \(quoted(root))") }
        return .run(root: root)
    }
}
