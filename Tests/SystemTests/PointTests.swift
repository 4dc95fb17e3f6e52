// permd beside permd-gate: it is believed about its own permission, and what it says is in use is listed.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct PointTests {
    @Test(arguments: [
        (BusNames.bluetoothGateService, Permission.bluetooth), (BusNames.locationGateService, .location),
    ])
    func aGateIsBelievedAboutItsPermission(_ name: String, _ permission: Permission) async throws {
        let bench = try await GuardBench(point: name)
        let (app, agent) = (try await bench.stage.app(), try await bench.stage.agent([.grant(.once)]))
        let process = try await GuardBench.pidfd(app)
        bench.deviceGuard.ask(1, about: process, .camera)
        try await bench.deviceGuard.receipts.first("the refusal") { $0 == "1 \(ErrorKind.invalidArguments.name)" }
        bench.deviceGuard.ask(2, about: process, permission)
        #expect(try await bench.deviceGuard.answer(2) == "granted")
        #expect(agent.prompts.all.map(\.questions) == [[.permission(permission)]])
        await app.end()
        await bench.end()
    }

    /// Until it is said to be over, the process has exited, or the gate has left.
    @Test(arguments: ["end", "gate"])
    func whatIsInUseIsListed(end: String) async throws {
        let bench = try await GuardBench([.bluetooth], point: BusNames.bluetoothGateService)
        let app = try await bench.stage.app()
        let ends = EventLog<UInt64>()
        let starts = EventLog<[String: Value]>()
        bench.stage.desk.onSignal(path: BusNames.root, interface: BusNames.usage, addMatch: false) {
            if $0.member == "UseStarted", let row = $0.body.first?.properties { starts.add(row) }
            if $0.member == "UseEnded", let seconds = $0.body[1].uint64Value { ends.add(seconds) }
        }
        _ = try await bench.stage.call(BusNames.usage, "Subscribe")
        let process = try await GuardBench.pidfd(app)
        let use: [Value] = [.uint64(7), .unixFD(process), .string("bluetooth"), .string("hci0")]
        // It is sent again where the gate does not know that it was received.
        for _ in 1...2 { bench.deviceGuard.send("BeginUse", use) }
        let row = try await starts.wait(for: 1)[0]
        #expect(row["app"] == .string(app.id.description) && row["permission"] == .string("bluetooth"))
        #expect(row["source"] == .string("gate") && row["device"] == .string("hci0"))
        if end == "gate" {
            try await bench.deviceGuard.restart()
        } else {
            bench.deviceGuard.send("EndUse", [.uint64(7)])
        }
        try await ends.wait(for: 1)
        #expect(starts.all.count == 1)
        #expect(try await bench.stage.rows("ListUses", nil, BusNames.usage).isEmpty)
        await app.end()
        await bench.end()
    }

    /// As another program than the gate may say it, or a newer gate.
    @Test func whatIsNotUnderstoodIsNotListed() async throws {
        let bench = try await GuardBench(point: BusNames.bluetoothGateService)
        let app = try await bench.stage.app()
        let process = try await GuardBench.pidfd(app)
        bench.deviceGuard.send("BeginUse", [.uint64(1), .unixFD(process), .string("camera"), .string("")])
        try await bench.deviceGuard.receipts.first("the refusal") { $0 == "1 \(ErrorKind.invalidArguments.name)" }
        let stranger = try bench.deviceGuard.stranger()
        bench.deviceGuard.send(
            "BeginUse", [.uint64(2), .unixFD(process), .string("bluetooth"), .string("")], from: stranger)
        try await bench.deviceGuard.receipts.first("the other refusal") { $0 == "2 \(ErrorKind.accessDenied.name)" }
        #expect(try await bench.stage.rows("ListUses", nil, BusNames.usage).isEmpty)
        await app.end()
        await bench.end()
    }
}
