// What the guard asks while nobody can be asked: how much of it is kept, and that it is asked about later.

import DBus
import Glibc
import PermissionCore
import PermissionModel
import PermissionTestKit
import ProcessIdentity
import System
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct PointLinkTests {
    /// Keeps the requests that it gets.
    private final class Recorder: RequestSink {
        private(set) var queue = Queue(configuration: Configuration())
        private(set) var requests: [Request] = []

        func newID() -> RequestID { queue.newID() }

        func feed(_ event: QueueEvent) {
            if case .requested(let request) = event { requests.append(request) }
        }
    }

    @LoopActor
    private struct Stage {
        let link: PointLink
        let bus: ReconnectingBus
        let deviceGuard: FakeGuard
        let queue = Recorder()
        private let folder: TemporaryFolder

        /// A link that has registered with the guard, and asks about every program.
        init() async throws {
            folder = try TemporaryFolder(["etc", "etc/permd"])
            try folder.write("[Enforcement]\nAsk=all\n", to: "etc/permd/permd.conf")
            let parts = await DaemonParts(folder)
            deviceGuard = try await FakeGuard()
            await withCheckedContinuation { continuation in parts.policy.read { continuation.resume() } }
            bus = ReconnectingBus(.address(deviceGuard.address))
            link = PointLink(
                PointConnection(bus: bus, log: quietLog), processes: ProcessIdentifier(worker: Worker()),
                facts: parts.facts,
                devices: parts.devices, now: parts.now, log: quietLog, maximumAsked: 2)
            link.serve(queue)
            try await deviceGuard.registered.wait(for: 1)
        }
    }

    /// As a newer guard may ask. A thread waits for the answer.
    @Test func aQuestionThatIsNotUnderstoodIsRefused() async throws {
        let stage = try await Stage()
        let process = UnixFD(owning: Pidfd.open(getpid()))
        let known: [Value] = [
            .uint64(1), .unixFD(process), .string("camera"), .uint64(0), .string(""), .bool(true),
        ]
        stage.deviceGuard.send("Ask", known + [.string("new")])
        var other = known
        (other[0], other[2]) = (.uint64(2), .string("screen"))
        stage.deviceGuard.send("Ask", other)
        try await stage.deviceGuard.receipts.wait(for: 2)
        let refusal = ErrorKind.invalidArguments.name
        #expect(stage.deviceGuard.receipts.all == ["1 \(refusal)", "2 \(refusal)"])
        #expect(stage.queue.requests.isEmpty && stage.deviceGuard.answers.isEmpty)
        await stage.deviceGuard.stop()
    }

    /// The guard sends again what it does not know to be received. That is the same question.
    @Test func aQuestionIsReceivedOnce() async throws {
        let stage = try await Stage()
        let process = UnixFD(owning: Pidfd.open(getpid()))
        for _ in 1...2 { stage.deviceGuard.ask(1, about: process) }
        try await stage.deviceGuard.receipts.wait(for: 2)
        // A question of which nothing is known is answered after those before it.
        stage.deviceGuard.ask(2, about: UnixFD(owning: open("/dev/null", O_RDONLY | O_CLOEXEC)))
        #expect(try await stage.deviceGuard.answer(2) == "undecided")
        #expect(stage.queue.requests.count == 1 && stage.deviceGuard.answers == ["2 undecided"])
        #expect(stage.deviceGuard.receipts.all.prefix(2) == ["1", "1"])
        await stage.deviceGuard.stop()
    }

    /// As while permd starts: the guard knows it before anything can be decided.
    @Test func whatIsAskedEarlyIsAnsweredLater() async throws {
        let folder = try TemporaryFolder([])
        let parts = await DaemonParts(folder)
        let deviceGuard = try await FakeGuard()
        let connection = PointConnection(bus: ReconnectingBus(.address(deviceGuard.address)), log: quietLog)
        connection.start()
        await withCheckedContinuation { continuation in connection.whenSettled { continuation.resume() } }
        #expect(deviceGuard.registered.all.count == 1)
        let process = UnixFD(owning: Pidfd.open(getpid()))
        for number: UInt64 in 1...3 { deviceGuard.ask(number, about: process) }
        deviceGuard.withdraw(2)
        try await deviceGuard.receipts.first("the withdrawal") { $0 == "2" }
        #expect(deviceGuard.receipts.all == ["2"])
        let link = PointLink(
            connection, processes: ProcessIdentifier(worker: Worker()), facts: parts.facts, devices: parts.devices,
            now: parts.now, log: quietLog)
        let queue = Recorder()
        link.serve(queue)
        try await deviceGuard.receipts.wait(for: 3)
        #expect(deviceGuard.receipts.all == ["2", "1", "3"])
        await deviceGuard.stop()
    }

    @Test(arguments: [true, false])
    func nothingWaitsForAGuardThatIsNotThere(hasBus: Bool) async throws {
        let deviceGuard = try await FakeGuard(isThere: false)
        let address = hasBus ? deviceGuard.address : "unix:path=/nonexistent"
        let connection = PointConnection(bus: ReconnectingBus(.address(address)), log: quietLog)
        connection.start()
        await withCheckedContinuation { continuation in connection.whenSettled { continuation.resume() } }
        await deviceGuard.stop()
    }

    /// Who decides is answered after the guard was told, also within a turn. What was told in a turn is not told again in
    /// it, unless an answer came between.
    @Test func theGuardIsToldBeforeAnybodyElse() async throws {
        let stage = try await Stage()
        let (connection, deviceGuard) = (stage.link.connection, stage.deviceGuard)
        let told = deviceGuard.calls.all.count
        func tellOthers(_ number: UInt64) {
            stage.bus.connection?.send(
                .call(
                    destination: BusNames.guardService, path: BusNames.guardObject, interface: BusNames.guardInterface,
                    member: "Answer", [.uint64(number), .string("witness")], noReply: true))
        }
        connection.changed(.camera)
        tellOthers(1)
        connection.changed(.camera)
        connection.answer(2, .granted)
        connection.changed(.camera)
        connection.changed(nil)
        connection.changed(.microphone)
        tellOthers(3)
        _ = try await deviceGuard.answer(3)
        let calls = [
            "Recheck camera", "Answer 1 witness", "Answer 2 granted", "Recheck camera", "Recheck ", "Answer 3 witness",
        ]
        #expect(Array(deviceGuard.calls.all.dropFirst(told)) == calls)
        await deviceGuard.stop()
    }

    @Test func questionsAreBounded() async throws {
        let stage = try await Stage()
        let (link, deviceGuard, queue) = (stage.link, stage.deviceGuard, stage.queue)
        link.pause()
        let process = UnixFD(owning: Pidfd.open(getpid()))
        for number: UInt64 in 1...3 { deviceGuard.ask(number, about: process) }
        #expect(try await deviceGuard.answer(3) == "undecided")
        #expect(queue.requests.isEmpty)
        link.serve(queue)
        #expect(queue.requests.map(\.caller.connection) == [BusNames.guardService, BusNames.guardService])
        #expect(deviceGuard.answers == ["3 undecided"])
        // What has an answer makes room.
        for request in queue.requests { request.requester.refuse(PermissionError(.limitExceeded)) }
        link.pause()
        for number: UInt64 in 4...6 { deviceGuard.ask(number, about: process) }
        #expect(try await deviceGuard.answer(6) == "undecided")
        #expect(Set(deviceGuard.answers) == ["1 undecided", "2 undecided", "3 undecided", "6 undecided"])
        await deviceGuard.stop()
    }
}
