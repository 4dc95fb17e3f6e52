// A message bus for one test, with its own HOME and XDG folders.

package import DBus
import Glibc

/// A message bus on a socket of its own, and a home with nothing in it for the programs on it.
public final class PrivateBus: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        /// `dbus-daemon`
        case daemon
        /// `dbus-broker`
        case broker
    }

    /// Its D-Bus server address.
    public let address: String
    /// The folder that contains `home`, `config`, `data`, `state`, `cache` and `runtime`.
    public var directory: String { folder.path }
    private let folder: TemporaryFolder
    private let process: ChildProcess
    private let journal: JournalSink?
    private let place: Slot

    /// Starts `dbus-daemon`, which accepts connections when this returns.
    ///
    /// - Parameter serviceDirectory: The folder of the service files with which the bus starts programs. It starts none
    ///   if nil.
    /// - Throws: ``TestKitError`` if the bus cannot be started.
    public convenience init(serviceDirectory: String? = nil) async throws(TestKitError) {
        try await self.init(.daemon, serviceDirectory: serviceDirectory)
    }

    package init(_ kind: Kind, serviceDirectory: String? = nil) async throws(TestKitError) {
        place = await Slot.buses.take()
        let folder = try TemporaryFolder(["home", "config", "data", "state", "cache", "runtime"])
        let socket = folder.file("bus")
        let address = "unix:path=\(socket)"
        let configuration = try folder.write(
            PrivateBus.configuration(socket: socket, serviceDirectory: serviceDirectory), to: "bus.conf")
        let environment = PrivateBus.environment(folder, address)
        self.folder = folder
        self.address = address
        switch kind {
        case .daemon:
            journal = nil
            process = try ChildProcess(
                "dbus-daemon", ["--nofork", "--nopidfile", "--print-address=1", "--config-file=\(configuration)"],
                environment: environment, standardError: .null)
            // dbus-daemon prints its address when it listens.
            for await _ in process.lines { return }
            throw TestKitError("dbus-daemon exited without listening")
        case .broker:
            if let problem = BrokerLauncher.problem { throw TestKitError(problem) }
            let sink = BrokerLauncher.hasJournal ? nil : try JournalSink(folder.file("journal"))
            journal = sink
            process = try BrokerLauncher.start(
                socket: socket, configuration: configuration, journal: sink?.path, environment: environment)
            try await BrokerLauncher.waitUntilServed(socket)
        }
    }

    /// The environment for programs on this bus: its address, HOME and the XDG folders, all within ``directory``.
    public var environment: [String: String] { PrivateBus.environment(folder, address) }

    @LoopActor package func connect() throws(BusError) -> Connection { try Connection.open(.address(address)) }

    /// Ends the bus and waits until it has exited; its clients are disconnected. It also ends with the last reference.
    public func end() async {
        process.terminate()
        _ = await process.waitForExit()
    }

    private static func environment(_ folder: TemporaryFolder, _ address: String) -> [String: String] {
        [
            "DBUS_SESSION_BUS_ADDRESS": address,
            "HOME": folder.file("home"),
            "XDG_CONFIG_HOME": folder.file("config"),
            "XDG_DATA_HOME": folder.file("data"),
            "XDG_STATE_HOME": folder.file("state"),
            "XDG_CACHE_HOME": folder.file("cache"),
            "XDG_RUNTIME_DIR": folder.file("runtime"),
            "LC_ALL": "C.UTF-8",
        ]
    }

    /// The policy of a session bus, which allows every message, including unsolicited replies.
    private static func configuration(socket: String, serviceDirectory: String?) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <keep_umask/>
          <listen>unix:path=\(socket)</listen>
          <auth>EXTERNAL</auth>
          \(serviceDirectory.map { "<servicedir>\($0)</servicedir>" } ?? "")
          <policy context="default">
            <allow send_destination="*" eavesdrop="true"/>
            <allow eavesdrop="true"/>
            <allow own="*"/>
          </policy>
          <!-- These are the limits of dbus's session.conf; the built-in limits are for the system bus. -->
          <limit name="max_incoming_bytes">1000000000</limit>
          <limit name="max_incoming_unix_fds">250000000</limit>
          <limit name="max_outgoing_bytes">1000000000</limit>
          <limit name="max_outgoing_unix_fds">250000000</limit>
          <limit name="max_message_size">1000000000</limit>
          <limit name="max_completed_connections">100000</limit>
          <limit name="max_connections_per_user">100000</limit>
          <limit name="max_match_rules_per_connection">50000</limit>
          <limit name="max_replies_per_connection">50000</limit>
        </busconfig>

        """
    }
}
