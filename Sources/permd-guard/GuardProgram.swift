// The program permd-guard: its options and the setup of its process.

import CGuard
import CLinux
import DBus
import Glibc
import Journal
import Logging
import System

enum GuardProgram {
    private static let usage = """
        Usage: permd-guard [--object FILE]
               permd-guard --remove

        Keeps programs from opening cameras, microphones, satellite receivers and Bluetooth sockets until the permd of their
        user has allowed it. Runs as root until SIGTERM; see permd-guard(8).

          --object FILE  the BPF programs; by default ../lib/permd/guard.bpf.o beside this program
          --remove       take the BPF programs out of the kernel, where they stay when permd-guard ends
          --help         print this help
          --version      print the version

        """

    static func main() -> Int32 {
        var arguments = CommandLine.arguments
        let removes = arguments.dropFirst().contains("--remove")
        arguments.removeAll { $0 == "--remove" }
        let options = ProgramOptions("permd-guard", usage: usage, values: ["--object": "a file"])
        let (values, status) = options.read(arguments)
        guard let values else { return status }
        guard getuid() == 0 else {
            writeError("permd-guard: only root can do this\n")
            return ExitStatus.unavailable
        }
        if removes { return KernelPins.remove() }
        signal(SIGPIPE, SIG_IGN)
        DescriptorLimit.raise()
        Loop.shared.adoptCurrentThread()
        return LoopActor.assumeIsolated { run(values["--object"] ?? standardObject()) }
    }

    /// Where scripts/build and scripts/install put it.
    private static func standardObject() -> String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        let length = readlink("/proc/self/exe", &path, Int(PATH_MAX))
        let own = String(decoding: path.prefix(max(0, length)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let folder = own.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        return "\(folder)/../lib/permd/guard.bpf.o"
    }

    @LoopActor
    private static func run(_ object: String) -> Int32 {
        LoggingSystem.bootstrap { _ in JournalLogHandler(program: "permd-guard") }
        let log = Logger(label: "permd-guard")
        let notifier = Notifier(status: "Watching who opens devices")
        let service: GuardService
        do throws(KernelProblem) { service = try GuardService(object: object, log: log) } catch {
            log.error("\(error.message)")
            guard error.standsAside else { return 1 }
            log.error("programs are not asked about")
            _ = KernelPins.remove()
            return ExitStatus.unavailable
        }
        Loop.shared.onSignals([SIGTERM, SIGINT, SIGHUP, SIGCHLD]) { number in
            switch number {
            case SIGCHLD: service.threadsChanged()
            case SIGHUP:
                notifier.reloading()
                service.readConfiguration()
                notifier.ready()
            default:
                notifier.stopping()
                service.stop()
                Loop.shared.stop()
            }
        }
        service.start()
        // Loading the programs took all of the kernel's types into memory, for a moment.
        malloc_trim(0)
        notifier.ready()
        log.notice("permd-guard \(ProgramOptions.version) stands between programs and devices")
        Loop.shared.run()
        return service.exitStatus
    }
}
