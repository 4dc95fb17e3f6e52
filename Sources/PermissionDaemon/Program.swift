// The program permd: its two flags, and what its process may use.

import DBus
import Glibc
import Logging
import PermissionModel

public enum Program {
    public static let version = "0.1.0"

    /// Exit statuses as sysexits.h has them.
    private enum Exit {
        static let usage: Int32 = 64
        static let unavailable: Int32 = 69
        static let osError: Int32 = 71
    }

    private static let usage = """
        Usage: permd [--root DIR]

        Asks the person before apps use the camera, the microphone, Bluetooth or the location.
        Serves org.permd on the session bus until SIGTERM; SIGHUP reads rules and settings and looks for devices again.

          --root DIR  read rules and settings under DIR instead of /
          --help      say this
          --version   say which version this is

        """

    /// Runs the daemon with the process's arguments; returns its exit status.
    public static func main() -> Int32 {
        var root = "/"
        switch parse(CommandLine.arguments) {
        case .run(let directory): root = directory
        case .say(let text):
            print(text, terminator: "")
            return 0
        case .usage(let problem):
            FileDescriptorText.writeError("permd: \(problem)\n\(usage)")
            return Exit.usage
        }
        // A reader of our log that leaves, and a limit on a file's size, are errors of a write and no reason to die.
        for harmless in [SIGPIPE, SIGXFSZ] { signal(harmless, SIG_IGN) }
        let descriptors = ProcessLimits.raiseDescriptors()
        guard descriptors >= ProcessLimits.fewestDescriptors else {
            FileDescriptorText.writeError(
                "permd: this process may have \(descriptors) file descriptors and needs \(ProcessLimits.fewestDescriptors); raise the limit, with LimitNOFILE= of its unit or ulimit -n\n"
            )
            return Exit.osError
        }
        ProcessLimits.giveMemoryBack()
        Loop.shared.adoptCurrentThread()
        LoggingSystem.bootstrap { _ in JournalLogHandler() }
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
            default: return .usage("there is no argument \(quoted(argument))")
            }
        }
        guard root.hasPrefix("/") else { return .usage("--root needs an absolute path, not \(quoted(root))") }
        return .run(root: root)
    }

    static let unavailable = Exit.unavailable
}

enum FileDescriptorText {
    /// To stderr, whole or not at all; nobody is left to tell if it fails.
    static func writeError(_ text: String) {
        var text = text
        text.withUTF8 { bytes in _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
    }
}
