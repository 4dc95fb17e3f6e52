// permd-gate between a service that stands in for BlueZ and a bus of its own, with a permd that the test answers for.

import DBus
import GateRules
import Glibc
import Logging
import PermissionModel
import PermissionTestKit
import PolicyFiles
import ProcessIdentity
import TestSupport
import Testing

@testable import permd_gate

@LoopActor
final class GateStage {
    static let device = "/org/bluez/hci0/dev_00"
    let bus: PrivateBus
    let gate: GateService
    private let folder: TemporaryFolder
    private var server: RelayServer?
    private var objects: [AnyObject] = []
    private var service: Connection?
    /// The calls that the service got, each as MEMBER; Departed CALLER for what the bus, or the gate, says of callers.
    let served = EventLog<String>()
    private(set) var servedCalls: [GatedCall] = []
    /// What the permd is asked, each as NUMBER WAITS.
    let asked = EventLog<String>()
    let withdrawn = EventLog<UInt64>()
    /// The uses that the permd is told of, each as NUMBER of DEVICE or NUMBER ended.
    let uses = EventLog<String>()
    let failures = EventLog<String>()
    /// Whether the device is connected when a program connects it.
    var isConnected = false
    /// Answers the last call of Pair; until then it waits.
    private(set) var endPairing: (@LoopActor () -> Void)?
    private var permd: Connection?
    /// Whose process those that call the service are: this one is the permd.
    let program: ChildProcess

    /// - Parameters:
    ///   - executable: That of every process.
    ///   - settings: Lines of guard.conf.
    init(
        executable: String? = "/usr/libexec/permd", settings: String = "", users: ClosedRange<UInt32> = 0...60000,
        limits: GateService.Times = GateService.Times(patience: 600_000, look: 600_000, questions: 600_000)
    ) async throws {
        bus = try await PrivateBus()
        folder = try TemporaryFolder(["etc", "etc/permd"])
        try folder.write("[Guard]\n\(settings)\n", to: "etc/permd/guard.conf")
        let configuration = GuardConfiguration.read(root: folder.path)
        try #require(configuration.problems.isEmpty)
        let program = try ChildProcess("/bin/sleep", ["infinity"])
        self.program = program
        gate = GateService(
            .bluez, bus: .address(bus.address), accounts: users, configuration: configuration.0,
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            limits: limits,
            executable: { _ in executable.map { Array($0.utf8) } },
            find: { _, _, _, completion in
                let pidfd = UnixFD(owning: Pidfd.open(program.pid))
                completion(.success(ConnectedProcess(pid: program.pid, pidfd: pidfd, user: getuid())))
            })
        let address = "unix:path=\(folder.path)/gate"
        server = try RelayServer(address, user: getuid()) { [gate] in gate.accept($0) }
        let observer = try bus.connect()
        let owners = EventLog<String?>()
        observer.onOwnerChange(of: BusNames.bluetoothGateService) { owners.add($0) }
        _ = try await observer.reply(to: .busCall("GetId"))
        gate.start { [failures] in failures.add("lost") }
        try await owners.first("the gate's name") { $0 != nil }
        try await startService(address)
    }

    private func startService(_ address: String) async throws {
        let connection = try await withCheckedThrowingContinuation { continuation in
            Connection.open(.address(address)) { continuation.resume(with: $0) }
        }
        connection.methodHandler = { [unowned self] call in serve(call, connection) }
        connection.onSignal(sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged") {
            [served] signal in
            if signal.body[2] == .string("") { served.add("Departed \(signal.body[0].stringValue ?? "")") }
        }
        let isOwner = await withCheckedContinuation { continuation in
            connection.requestName("org.bluez") { continuation.resume(returning: (try? $0.get()) == true) }
        }
        try #require(isOwner)
        service = connection
    }

    private func serve(_ call: Message, _ connection: Connection) {
        served.add(call.member ?? "")
        servedCalls.append(
            GatedCall(
                path: call.path ?? "", interface: call.interface, member: call.member ?? "",
                firstText: call.body.first?.stringValue))
        switch call.member {
        case "GetManagedObjects":
            connection.reply(to: call, [GateStage.objects(["/org/bluez/hci0", GateStage.device])])
        case "Get": connection.reply(to: call, [.variant(.bool(isConnected))])
        case "Pair": endPairing = { connection.reply(to: call, []) }
        case "Fail": connection.reply(to: call, error: "org.bluez.Error.Failed", [.string("no")])
        case "Introspect":
            connection.reply(to: call, [.string("<node><node name=\"dev_00\"/><node name=\"other\"/></node>")])
        default: connection.reply(to: call, [])
        }
    }

    static func objects(_ paths: [String]) -> Value {
        .dictionary(
            key: "o", value: "a{sa{sv}}",
            paths.map {
                DictionaryEntry(
                    .objectPath($0),
                    .dictionary(
                        key: "s", value: "a{sv}",
                        [DictionaryEntry(.string("org.example.Object1"), .properties(["Name": .string("x")]))]))
            })
    }

    /// The service emits a signal about the device, and then one about the adapter.
    func emit() {
        for path in [GateStage.device, "/org/bluez/hci0"] {
            service?.send(
                .signal(
                    path: path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
                    [.string("org.example.Object1"), .properties([:]), .array(of: "s", [])]))
        }
    }

    /// The service says that the device is not connected any more.
    func disconnectDevice() {
        service?.send(
            .signal(
                path: GateStage.device, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
                [.string("org.bluez.Device1"), .properties(["Connected": .bool(false)]), .array(of: "s", [])]))
    }

    /// A permd registers, and keeps what it is asked.
    func registerPermd() async throws {
        let connection = try bus.connect()
        let server = ObjectServer(connection: connection) { call, text in
            call.fail(name: ErrorKind.invalidArguments.name, body: [.string(text), .bool(false)])
        }
        server.add(
            Interface(
                name: BusNames.guardClientInterface,
                methods: [
                    Method(
                        name: "Ask",
                        inputs: [
                            "request": "t", "process": "h", "permission": "s", "device": "t", "program": "s",
                            "waits": "b",
                        ], outputs: [:]
                    ) { [asked] call in
                        let question =
                            "\(call.arguments[0].uint64Value ?? 0) \(call.arguments[5].boolValue ?? false)"
                        // It is sent again where the gate has not heard in time that it was received.
                        if !asked.all.contains(question) { asked.add(question) }
                        call.reply()
                    },
                    Method(
                        name: "BeginUse", inputs: ["use": "t", "process": "h", "permission": "s", "device": "s"],
                        outputs: [:]
                    ) { [uses] call in
                        let use = "\(call.arguments[0].uint64Value ?? 0) of \(call.arguments[3].stringValue ?? "")"
                        if !uses.all.contains(use) { uses.add(use) }
                        call.reply()
                    },
                    Method(name: "EndUse", inputs: ["use": "t"], outputs: [:]) { [uses] call in
                        let end = "\(call.arguments[0].uint64Value ?? 0) ended"
                        if !uses.all.contains(end) { uses.add(end) }
                        call.reply()
                    },
                    Method(name: "Withdraw", inputs: ["request": "t"], outputs: [:]) { [withdrawn] call in
                        withdrawn.add(call.arguments[0].uint64Value ?? 0)
                        call.reply()
                    },
                ]), at: BusNames.guardClientObject)
        objects.append(server)
        permd = connection
        try await callGate("Register")
    }

    func callGate(_ member: String, _ body: [Value] = []) async throws {
        let permd = try #require(permd)
        _ = try await permd.reply(
            to: .call(
                destination: BusNames.bluetoothGateService, path: BusNames.guardObject,
                interface: BusNames.guardInterface, member: member, body))
    }

    func number(of question: Int) throws -> UInt64 {
        try #require(asked.all[question].split(separator: " ").first.flatMap { UInt64($0) })
    }

    /// Waits for the question after `count` others, and answers it.
    ///
    /// - Parameter waits: Whether it must be one for a person.
    func answer(after count: Int, waits: Bool, _ answer: String) async throws {
        try await asked.wait(for: count + 1)
        let words = asked.all[count].split(separator: " ")
        #expect(words[1] == "\(waits)")
        try await callGate("Answer", [.uint64(UInt64(words[0])!), .string(answer)])
    }
}

/// A program that calls the service.
@LoopActor
final class GateClient {
    let connection: Connection
    let signals = EventLog<String>()

    init(_ stage: GateStage) async throws {
        connection = try stage.bus.connect()
        for member in ["PropertiesChanged", "InterfacesAdded"] {
            connection.onSignal(member: member) { [signals] signal in
                let path = signal.body.first?.objectPathValue ?? signal.path ?? ""
                signals.add("\(signal.member ?? "") \(path)")
            }
        }
        _ = try await connection.reply(to: .busCall("GetId"))
    }

    func call(_ member: String, at path: String = "/org/bluez/hci0", of interface: String = "org.bluez.Adapter1")
        async throws -> [Value]
    {
        try await connection.reply(
            to: .call(destination: "org.bluez", path: path, interface: interface, member: member))
    }

    /// Nil after success.
    func error(_ member: String, at path: String = "/org/bluez/hci0", of interface: String = "org.bluez.Adapter1")
        async -> String?
    {
        do {
            _ = try await call(member, at: path, of: interface)
            return nil
        } catch { return (error as? BusError)?.name ?? "\(error)" }
    }

    /// The paths that GetManagedObjects lists.
    func listed() async throws -> [String] {
        let reply = try await call("GetManagedObjects", at: "/", of: "org.freedesktop.DBus.ObjectManager")
        guard case .dictionary(_, _, let entries) = reply[0] else { return [] }
        return entries.map { $0.key.objectPathValue ?? "" }
    }
}

extension Connection {
    func reply(to message: Message) async throws -> [Value] {
        try await withCheckedThrowingContinuation { continuation in
            call(message) { continuation.resume(with: $0.map(\.body)) }
        }
    }
}
