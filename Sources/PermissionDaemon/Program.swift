// The program permd: its two flags, the order in which the rooms open and close.

import CLinux
import DBus
import Glibc
import Logging
import PermissionCore
import PermissionModel

public enum Program {
    public static let version = "0.1.0"

    /// Exit statuses as sysexits.h has them.
    private enum Exit {
        static let usage: Int32 = 64
        static let unavailable: Int32 = 69
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
        Loop.shared.adoptCurrentThread()
        LoggingSystem.bootstrap { _ in JournalLogHandler() }
        let log = Logger(label: "permd")
        let daemon = LoopActor.assumeIsolated { Daemon(root: root, log: log) }
        let status = LoopActor.assumeIsolated { daemon.start() }
        guard status == 0 else { return status }
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

    fileprivate static let unavailable = Exit.unavailable
}

enum FileDescriptorText {
    /// To stderr, whole or not at all; nobody is left to tell if it fails.
    static func writeError(_ text: String) {
        var text = text
        text.withUTF8 { bytes in _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
    }
}

/// The daemon from its first room to its last.
@LoopActor
final class Daemon {
    private let root: String
    private let log: Logger
    private var broker: Broker?
    private var server: ObjectServer?
    private var gate: Gate?
    private var sessions: LoginSessions?
    private var attention: Attention?
    private let notifier = Notifier()
    private(set) var exitStatus: Int32 = 0

    init(root: String, log: Logger) {
        self.root = root
        self.log = log
    }

    /// Opens everything; 0 once the name is ours.
    func start() -> Int32 {
        let connection: Connection
        do throws(BusError) { connection = try Connection.open(.session) } catch {
            log.error("There is no session bus: \(error.message)")
            return Program.unavailable
        }
        Loop.shared.onSignals([SIGTERM, SIGINT, SIGHUP]) { [weak self] in self?.signal($0) }
        let store = DecisionStore(paths: .standard(), bootID: BootID.current(), now: Daemon.wallClock(), log: log)
        let rules = RuleBook(root: root, lastGood: store.ruleFiles(), log: log)
        let broker = Broker(
            connection: connection, store: store, rules: rules, devices: DeviceCatalog(log: log),
            now: { Daemon.wallClock() }, log: log)
        self.broker = broker
        serve(broker, on: connection)
        do throws(BusError) {
            guard try connection.requestName(BusNames.service) else {
                log.error("Another permd serves this session bus already; this one leaves")
                return 1
            }
        } catch {
            log.error("The bus does not let permd own \(BusNames.service): \(error.message)")
            return Program.unavailable
        }
        servePortals(connection)
        broker.start()
        followSessions(broker)
        connection.onDisconnect { [weak self] in self?.busLost() }
        notifier.ready()
        log.info("permd \(Program.version) serves \(BusNames.service) as \(connection.uniqueName)")
        return 0
    }

    private func serve(_ broker: Broker, on connection: Connection) {
        let server = ObjectServer(connection: connection) { call, explanation in
            call.fail(.invalidArguments, explanation)
        }
        for interface in broker.interfaces { server.add(interface, at: BusNames.root) }
        server.addSubtree(
            prefix: BusNames.requestRoot,
            ObjectTree(
                interfaces: { broker.requests.interfaces(at: $0, for: $1) },
                children: { broker.requests.children(of: $0, for: $1) }))
        server.add(broker.portalDoor.access, at: BusNames.portalRoot)
        server.addSubtree(
            prefix: BusNames.portalRequestRoot,
            ObjectTree(interfaces: { _, _ in [broker.portalDoor.request] }, children: { _, _ in [] }))
        let gate = Gate(connection: connection, identifier: broker.identifier, log: log)
        server.isOpen = { gate.isOpen($0, $1) }
        server.gate = { gate.check($0, $1, $2) }
        connection.floodHandler = { gate.refuseFlood($0, on: connection) }
        if let serve = connection.methodHandler {
            connection.methodHandler = { message in gate.admit(message, on: connection, serve) }
        }
        self.server = server
        self.gate = gate
    }

    /// Without that name everything else works.
    private func servePortals(_ connection: Connection) {
        do throws(BusError) {
            guard try !connection.requestName(BusNames.portalBackend) else { return }
            log.error("Another program has the name \(BusNames.portalBackend); portals do not ask permd")
        } catch {
            log.error("The bus does not let permd own \(BusNames.portalBackend): \(error.message)")
        }
    }

    /// Session decisions end with the last login session, also one that ended while no permd ran. Prompts wait while
    /// nobody is in front of any.
    private func followSessions(_ broker: Broker) {
        let sessions = LoginSessions(log: log)
        if LoginSessions.sessionEnded(saved: broker.store.savedSessions(), current: sessions.current) {
            broker.sessionEnded()
        }
        broker.keepSessions(sessions.current)
        sessions.onLastEnded = { [weak broker] in broker?.sessionEnded() }
        sessions.onChange = { [weak broker] in broker?.keepSessions($0) }
        self.sessions = sessions
        let attention = Attention(log: log)
        attention.start(
            onChange: { [weak broker] in broker?.feed(.attention($0)) },
            onSwitch: { [weak broker] in broker?.devices.checkRights() })
        self.attention = attention
    }

    private func signal(_ number: Int32) {
        switch number {
        case SIGHUP:
            notifier.reloading()
            broker?.rules.reloadAndTell()
            broker?.devices.rescan()
            notifier.ready()
        default:
            notifier.stopping()
            stop()
        }
    }

    private func busLost() {
        log.error("The session bus went away; permd leaves and comes back with it")
        exitStatus = 1
        stop()
    }

    private func stop() {
        guard let broker else { return Loop.shared.stop() }
        broker.stop {
            broker.connection.flush()
            Loop.shared.stop()
        }
    }

    nonisolated static func wallClock() -> EpochSeconds { EpochSeconds(time(nil)) }
}
