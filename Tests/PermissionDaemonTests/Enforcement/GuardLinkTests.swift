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
struct GuardLinkTests {
    /// Keeps the requests that it gets.
    private final class Recorder: RequestQueue {
        private(set) var queue = Queue(settings: Settings())
        private(set) var requests: [Request] = []

        func newID() -> RequestID { queue.newID() }

        func feed(_ event: QueueEvent) {
            if case .requested(let request) = event { requests.append(request) }
        }
    }

    @Test func questionsAreBounded() async throws {
        let folder = try TemporaryFolder(["etc", "etc/permd"])
        try folder.write("[Enforcement]\nAsk=all\n", to: "etc/permd/permd.conf")
        let (parts, deviceGuard) = (await DaemonParts(folder), try await FakeGuard())
        await withCheckedContinuation { continuation in parts.policy.read { continuation.resume() } }
        let link = GuardLink(
            bus: SystemBus(.address(deviceGuard.address)), processes: ProcessIdentifier(worker: Worker()),
            facts: parts.facts, policy: parts.policy, devices: parts.devices, now: parts.now, log: quietLog,
            maximumAsked: 2)
        let queue = Recorder()
        link.serve(queue)
        try await deviceGuard.registered.wait(for: 1)
        link.pause()
        let process = UnixFD(owning: Pidfd.open(getpid()))
        for number: UInt64 in 1...3 { deviceGuard.ask(number, about: process) }
        #expect(try await deviceGuard.answer(3) == "refused")
        #expect(queue.requests.isEmpty)
        link.serve(queue)
        #expect(queue.requests.map(\.caller.connection) == [BusNames.guardService, BusNames.guardService])
        #expect(deviceGuard.answers == ["3 refused"])
        // What has an answer makes room.
        for request in queue.requests { request.origin.refuse(PermissionError(.limitExceeded)) }
        link.pause()
        for number: UInt64 in 4...6 { deviceGuard.ask(number, about: process) }
        #expect(try await deviceGuard.answer(6) == "refused")
        #expect(Set(deviceGuard.answers) == ["1 refused", "2 refused", "3 refused", "6 refused"])
        await deviceGuard.stop()
    }
}
