// permd, and a guard of the test.

import CLinux
import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

/// permd, and a guard that it has registered with.
@LoopActor
struct GuardBench {
    let deviceGuard: FakeGuard
    let stage: Stage

    init(
        _ kinds: [MockDevices.Kind] = [], settings: String = "[Enforcement]\nAsk=all\n",
        rules: [String: String] = [:], bus: PrivateBus? = nil, point: String = BusNames.guardService,
        _ prepare: (FakeGuard) -> Void = { _ in }
    ) async throws {
        deviceGuard = try await FakeGuard(name: point)
        prepare(deviceGuard)
        stage = try await Stage(
            kinds, settings: settings, rules: rules, bus: bus, environment: deviceGuard.environment)
        try await deviceGuard.registered.wait(for: 1)
    }

    func end() async {
        await stage.end()
        await deviceGuard.stop()
    }

    /// Waits until permd has handled everything that the guard has sent so far, by a question that needs no person.
    func settle(_ number: UInt64) async throws {
        let process = try GuardBench.pidfd(getpid())
        deviceGuard.ask(number, about: process, .bluetooth, waits: false)
        _ = try await deviceGuard.answer(number)
    }

    static func pidfd(_ pid: Int32) throws -> UnixFD {
        let pidfd = UnixFD(owning: clinux_pidfd_open(pid, 0))
        try #require(pidfd.raw >= 0)
        return pidfd
    }

    static func pidfd(_ app: TestApp) async throws -> UnixFD { try pidfd(try await app.pid()) }
}
