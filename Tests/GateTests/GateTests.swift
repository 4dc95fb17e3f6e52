// What a program gets of a service behind permd-gate, before it is asked about and after.

import DBus
import GateRules
import Glibc
import PermissionModel
import PermissionTestKit
import Testing

@testable import permd_gate

private let denied = BusError.Name.accessDenied

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct GateTests {
    @Test func aCallWaitsForItsAnswer() async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        async let result = client.error("StartDiscovery")
        try await stage.asked.wait(for: 1)
        // What asks nothing overtakes it.
        #expect(await client.error("Get", of: "org.freedesktop.DBus.Properties") == nil)
        #expect(!stage.served.all.contains("StartDiscovery"))
        try await stage.answer(after: 0, waits: true, "granted")
        #expect(await result == nil && stage.served.all.contains("StartDiscovery"))
        // It is asked about once.
        #expect(await client.error("Connect", at: GateStage.device, of: "org.bluez.Device1") == nil)
        #expect(stage.asked.all.count == 1)
    }

    @Test(arguments: [("denied", 1), ("undecided", 2)])
    func aRefusedCallDoesNotReachTheService(answer: String, questions: Int) async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        async let first = client.error("StartDiscovery")
        try await stage.answer(after: 0, waits: true, answer)
        #expect(await first == denied)
        async let second = client.error("StartDiscovery")
        if questions == 2 { try await stage.answer(after: 1, waits: true, answer) }
        #expect(await second == denied)
        #expect(stage.asked.all.count == questions && !stage.served.all.contains("StartDiscovery"))
        // It sees the adapter nevertheless.
        #expect(await client.error("Get", of: "org.freedesktop.DBus.Properties") == nil)
    }

    /// An undecided program sees no device, and a granted one all of them.
    @Test(arguments: [("undecided", false), ("denied", false), ("granted", true)])
    func theViewOfAProgram(answer: String, seesDevices: Bool) async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        async let paths = client.listed()
        try await stage.answer(after: 0, waits: false, answer)
        #expect(try await paths.contains(GateStage.device) == seesDevices)
        async let text = client.call("Introspect", of: "org.freedesktop.DBus.Introspectable")
        if answer == "undecided" { try await stage.answer(after: 1, waits: false, answer) }
        let description = try await text[0].stringValue ?? ""
        #expect(description.contains("dev_00") == seesDevices && description.contains("other"))
        stage.emit()
        try await client.signals.first("the adapter's signal") { $0 == "PropertiesChanged /org/bluez/hci0" }
        #expect(client.signals.all.contains("PropertiesChanged \(GateStage.device)") == seesDevices)
    }

    /// Who is granted later is told of the devices that it did not see.
    @Test func aGrantCompletesTheView() async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        async let paths = client.listed()
        try await stage.answer(after: 0, waits: false, "undecided")
        #expect(try await paths == ["/org/bluez/hci0"])
        async let result = client.error("StartDiscovery")
        try await stage.answer(after: 1, waits: true, "granted")
        #expect(await result == nil)
        try await client.signals.first("the device") { $0 == "InterfacesAdded \(GateStage.device)" }
    }

    /// A grant that is taken back ends what runs, as if the program had left.
    @Test func whatIsTakenBackIsEnded() async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        async let result = client.error("StartDiscovery")
        try await stage.answer(after: 0, waits: true, "granted")
        #expect(await result == nil)
        try await stage.callGate("Recheck", [.string("bluetooth")])
        try await stage.answer(after: 1, waits: false, "denied")
        try await stage.served.first("the end") { $0 == "Departed \(client.connection.uniqueName)" }
        #expect(await client.error("StartDiscovery") == denied)
        stage.emit()
        try await client.signals.first("the adapter's signal") { $0 == "PropertiesChanged /org/bluez/hci0" }
        #expect(client.signals.all == ["PropertiesChanged /org/bluez/hci0"])
    }

    /// What a program has connected is disconnected, unless another one uses it, or it was connected before.
    @Test(arguments: ["connected by it", "connected before", "used by another"])
    func aConnectionThatIsTakenBack(device: String) async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        stage.isConnected = device == "connected before"
        let clients = [try await GateClient(stage), try await GateClient(stage)]
        for (number, client) in clients.prefix(device == "used by another" ? 2 : 1).enumerated() {
            async let result = client.error("Connect", at: GateStage.device, of: "org.bluez.Device1")
            try await stage.answer(after: number, waits: true, "granted")
            #expect(await result == nil)
            stage.isConnected = true
        }
        let count = stage.asked.all.count
        try await stage.callGate("Recheck", [.string("bluetooth")])
        try await stage.asked.wait(for: 2 * count)
        // Callers are asked about again in any order.
        for question in count..<2 * count {
            try await stage.answer(after: question, waits: false, question == count ? "denied" : "granted")
        }
        try await stage.served.first("the end") { $0.hasPrefix("Departed") }
        _ = try await clients[0].listed()
        #expect(stage.served.all.contains("Disconnect") == (device == "connected by it"))
        #expect(stage.uses.all.isEmpty == (device == "connected before"))
    }

    /// While a program pairs a device, it is connected already: for that program, not for nobody.
    @Test func aConnectionThatAnotherIsMaking() async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let clients = [try await GateClient(stage), try await GateClient(stage)]
        async let pairing = clients[0].error("Pair", at: GateStage.device, of: "org.bluez.Device1")
        try await stage.answer(after: 0, waits: true, "granted")
        try await stage.served.first("the pairing") { $0 == "Pair" }
        stage.isConnected = true
        async let connecting = clients[1].error("Connect", at: GateStage.device, of: "org.bluez.Device1")
        try await stage.answer(after: 1, waits: true, "granted")
        #expect(await connecting == nil)
        try await stage.uses.first("its use") { $0.hasPrefix("1 of") }
        stage.endPairing?()
        #expect(await pairing == nil)
        try await stage.uses.first("the other's use") { $0.hasPrefix("2 of") }
    }

    @Test func whoLeavesIsAskedAboutNoLonger() async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        client.connection.call(
            .call(destination: "org.bluez", path: "/org/bluez/hci0", interface: "org.bluez.Adapter1", member: "Scan")
        ) { _ in }
        try await stage.asked.wait(for: 1)
        client.connection.close()
        try await stage.withdrawn.wait(for: 1)
        #expect(!stage.served.all.contains("Scan"))
    }

    /// A search, and a connected device, until they are ended, by whomever.
    @Test(arguments: ["call", "signal", "leaving", "denial"])
    func usesAreReported(end: String) async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        async let result = client.error("StartDiscovery")
        try await stage.answer(after: 0, waits: true, "granted")
        #expect(await result == nil)
        try await stage.uses.first("the use") { $0 == "1 of hci0" }
        if end == "signal" {
            #expect(await client.error("Connect", at: GateStage.device, of: "org.bluez.Device1") == nil)
            #expect(await client.error("StopDiscovery") == nil)
        }
        switch end {
        case "call": #expect(await client.error("StopDiscovery") == nil)
        case "signal": stage.disconnectDevice()
        case "leaving": client.connection.close()
        default:
            try await stage.callGate("Recheck", [.string("bluetooth")])
            try await stage.answer(after: 1, waits: false, "denied")
        }
        try await stage.uses.first("its end") { $0 == "1 ended" }
        #expect(stage.uses.all == ["1 of hci0", "1 ended"])
    }

    /// An answer that comes too late for the call counts for the next one.
    @Test func nobodyAnswersInTime() async throws {
        let stage = try await GateStage(limits: GateService.Times(patience: 50, look: 50))
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        #expect(try await client.listed() == ["/org/bluez/hci0"])
        #expect(await client.error("StartDiscovery") == denied)
        try await stage.asked.wait(for: 1)
        try await stage.callGate("Answer", [.uint64(try stage.number(of: 0)), .string("undecided")])
        try await stage.answer(after: 1, waits: true, "granted")
        #expect(await client.error("StartDiscovery") == nil)
    }

    /// A child may hold the connection of a program that was granted.
    @Test func aGrantEndsWithItsProcess() async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        async let result = client.error("StartDiscovery")
        try await stage.answer(after: 0, waits: true, "granted")
        #expect(await result == nil)
        stage.program.terminate(SIGKILL)
        try await stage.served.first("the end") { $0 == "Departed \(client.connection.uniqueName)" }
        stage.emit()
        try await client.signals.first("the adapter's signal") { $0 == "PropertiesChanged /org/bluez/hci0" }
        #expect(client.signals.all == ["PropertiesChanged /org/bluez/hci0"])
    }

    /// Whoever calls on and on although nothing is decided does not keep permd busy.
    @Test func questionsAreBounded() async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        var count = 0
        for _ in 0..<40 {
            async let error = client.error("StartDiscovery")
            if count < 16 {
                try await stage.answer(after: count, waits: true, "undecided")
                count += 1
            }
            #expect(await error == denied)
        }
        #expect(stage.asked.all.count == 16)
        #expect(try await client.listed() == ["/org/bluez/hci0"])
    }

    @Test func connectionsOfOneProgramAreAskedAboutEach() async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let (first, second) = (try await GateClient(stage), try await GateClient(stage))
        async let one = first.error("StartDiscovery")
        try await stage.answer(after: 0, waits: true, "granted")
        #expect(await one == nil)
        async let two = second.error("StartDiscovery")
        try await stage.answer(after: 1, waits: true, "denied")
        #expect(await two == denied)
    }

    /// Without a permd since the boot, as the guard does it.
    @Test(arguments: [true, false])
    func aUserWithoutAPermd(passes: Bool) async throws {
        let stage = try await GateStage(settings: "WithoutPermd=\(passes ? "allow" : "refuse")")
        let client = try await GateClient(stage)
        #expect(try await client.listed().contains(GateStage.device) == passes)
        #expect(await client.error("StartDiscovery") == (passes ? nil : denied))
    }

    /// What ran before there was a permd is asked about when one comes, and goes on if it is granted.
    @Test(arguments: ["granted", "denied"])
    func aPermdThatComesLater(answer: String) async throws {
        let stage = try await GateStage()
        let client = try await GateClient(stage)
        #expect(await client.error("StartDiscovery") == nil)
        try await stage.registerPermd()
        try await stage.answer(after: 0, waits: true, answer)
        if answer == "denied" {
            try await stage.served.first("the end") { $0 == "Departed \(client.connection.uniqueName)" }
        }
        #expect(await client.error("StartDiscovery") == (answer == "granted" ? nil : denied))
        #expect(stage.asked.all.count == 1)
        #expect(stage.served.all.contains { $0.hasPrefix("Departed") } == (answer == "denied"))
    }

    @Test(arguments: ["setting", "system user"])
    func whoPasses(reason: String) async throws {
        let stage = try await GateStage(
            settings: reason == "setting" ? "Pass=/usr/libexec/permd" : "",
            users: reason == "setting" ? 0...60000 : 1_000_000...1_000_001)
        if reason == "setting" { try await stage.registerPermd() }
        let client = try await GateClient(stage)
        #expect(await client.error("StartDiscovery") == nil && stage.asked.all == [])
        #expect(try await client.listed().contains(GateStage.device))
    }

    @Test func whatIsTooMuchToWaitIsRefused() async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        let call = Message.call(
            destination: "org.bluez", path: "/org/bluez/hci0", interface: "org.bluez.Adapter1", member: "Scan",
            [.string(String(repeating: "x", count: 100_000))])
        await #expect(throws: BusError.self) { try await client.connection.reply(to: call) }
        #expect(stage.asked.all == [])
        // A flood of calls: one question, and each call an answer.
        let errors = EventLog<String>()
        for _ in 0..<200 {
            client.connection.call(
                .call(
                    destination: "org.bluez", path: "/org/bluez/hci0", interface: "org.bluez.Adapter1", member: "Scan")
            ) { if case .failure(let error) = $0 { errors.add(error.name) } }
        }
        try await stage.answer(after: 0, waits: true, "denied")
        try await errors.wait(for: 200)
        #expect(stage.asked.all.count == 1 && Set(errors.all) == [denied])
        #expect(!stage.served.all.contains("Scan"))
    }

    @Test func aLostBusIsTheEnd() async throws {
        let stage = try await GateStage()
        await stage.bus.end()
        try await stage.failures.first("the end") { _ in true }
    }

    /// Whatever a program calls, and however: what asks does not reach the service without a grant, and every call is
    /// answered.
    @Test(arguments: 0..<2)
    func randomCalls(round: Int) async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let client = try await GateClient(stage)
        async let first = client.error("StartDiscovery")
        try await stage.answer(after: 0, waits: true, "denied")
        #expect(await first == denied)
        let paths = ["/", "/org/bluez", "/org/bluez/hci0", GateStage.device, GateStage.device + "/service0001"]
        let interfaces: [String?] = [
            nil, "org.bluez.Adapter1", "org.bluez.Device1", "org.bluez.AgentManager1", "org.bluez.Media1",
            "org.freedesktop.DBus.Properties", "org.freedesktop.DBus.ObjectManager",
            "org.freedesktop.DBus.Introspectable", "org.example.New1",
        ]
        let members = [
            "Get", "GetAll", "Set", "StartDiscovery", "StopDiscovery", "GetManagedObjects", "Introspect", "Connect",
            "RegisterAgent", "UnregisterAgent", "RegisterEndpoint", "New",
        ]
        let bodies: [[Value]] = [
            [], [.string("org.bluez.Device1")], [.objectPath(GateStage.device)], [.uint32(7), .variant(.string("x"))],
            [.string(String(repeating: "x", count: 200_000))], [.array(of: "s", [])],
        ]
        let answers = EventLog<String>()
        for _ in 0..<400 {
            var call = Message.call(
                destination: "org.bluez", path: paths.randomElement()!, interface: "org.example.None",
                member: members.randomElement()!, bodies.randomElement()!)
            call.interface = interfaces.randomElement()!
            client.connection.call(call) {
                if case .failure(let error) = $0 { answers.add(error.name) } else { answers.add("") }
            }
        }
        try await answers.wait(for: 400)
        #expect(!stage.servedCalls.isEmpty)
        for call in stage.servedCalls { #expect(GatedService.bluez.rule(for: call) != .ask, "\(call)") }
        #expect(stage.asked.all.count == 1)
    }

    /// A name that only the bus gives, or that no bus gives, makes no difference: the bus stamps the sender.
    @Test func aForgedDeparture() async throws {
        let stage = try await GateStage()
        try await stage.registerPermd()
        let (client, other) = (try await GateClient(stage), try await GateClient(stage))
        async let result = client.error("StartDiscovery")
        try await stage.asked.wait(for: 1)
        other.connection.send(
            .signal(
                path: "/org/freedesktop/DBus", interface: Message.busName, member: "NameOwnerChanged",
                [.string(client.connection.uniqueName), .string(client.connection.uniqueName), .string("")]))
        _ = try await other.connection.reply(to: .busCall("GetId"))
        try await stage.answer(after: 0, waits: true, "granted")
        #expect(await result == nil)
    }
}
