// The program permd-gate: its options and the setup of its process.

import CLinux
import DBus
import GateRules
import Glibc
import Journal
import Logging
import PolicyFiles
import System
import SystemPoint

enum GateProgram {
    private static let usage = """
        Usage: permd-gate --service NAME [--listen ADDRESS]

        Stands between a service and the system bus: calls of programs wait until the permd of their user has allowed them.
        Runs as the user of the service until SIGTERM; see permd-gate(8).

          --service NAME    \(GatedService.all.map(\.name).joined(separator: " or "))
          --listen ADDRESS  where the service connects; by default the socket of the unit
          --help            print this help
          --version         print the version

        """

    static func main() -> Int32 {
        let options = ProgramOptions(
            "permd-gate", usage: usage, values: ["--service": "a name", "--listen": "an address"])
        let (values, status) = options.read(CommandLine.arguments)
        guard let values else { return status }
        guard let service = GatedService.all.first(where: { $0.name == values["--service"] }) else {
            return options.refuse("--service is needed, with a service that it knows")
        }
        signal(SIGPIPE, SIG_IGN)
        DescriptorLimit.raise()
        Loop.shared.adoptCurrentThread()
        return LoopActor.assumeIsolated { run(service, values["--listen"] ?? "systemd:") }
    }

    @LoopActor
    private static func run(_ service: GatedService, _ address: String) -> Int32 {
        LoggingSystem.bootstrap { _ in JournalLogHandler(program: "permd-gate") }
        let log = Logger(label: "permd-gate")
        let notifier = Notifier(status: "Watching who calls \(service.name)")
        let (configuration, problems) = GuardConfiguration.read()
        for problem in problems { log.error("\(problem.text)") }
        let gate = GateService(
            service, bus: .system, accounts: LoginUsers.accounts(), configuration: configuration, log: log)
        do throws(BusError) {
            _ = try RelayServer(address, user: getuid()) { gate.accept($0) }
        } catch {
            log.error("cannot listen on \(address): \(error.message)")
            return ExitStatus.osError
        }
        Loop.shared.onSignals([SIGTERM, SIGINT]) { _ in
            notifier.stopping()
            Loop.shared.stop()
        }
        var status: Int32 = 0
        gate.start {
            status = 1
            Loop.shared.stop()
        }
        notifier.ready()
        log.notice("permd-gate \(ProgramOptions.version) stands before \(service.name)")
        Loop.shared.run()
        return status
    }
}
