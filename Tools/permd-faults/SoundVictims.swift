// The programs that the sound fault kills, and their restart in the way systemd does it.

import DBus
import Glibc
import PermissionTestKit
import TestSupport

@LoopActor
final class SoundVictims {
    enum Victim: String, CaseIterable {
        case point = "permd-pipewire"
        case permd, pipewire, wireplumber
        case pulse = "pipewire-pulse"

        /// The name under which its kills are counted.
        var count: String { "of \(rawValue)" }

        var part: SoundServer.Part? { SoundServer.Part(rawValue: rawValue) }
    }

    private let server: SoundServer
    private let report: Report
    /// Those that were killed, and have not been started again.
    private(set) var down: Set<Victim> = []
    /// WirePlumber 0.4, started again, links nothing to a source that is in use, with or without permd.
    private let needsNewServer: Bool

    /// The longest time in milliseconds until systemd starts a program again, by its default `RestartSec`, twice.
    private static let longestAway = 200

    init(_ server: SoundServer, _ report: Report) async throws {
        self.server = server
        self.report = report
        needsNewServer = try await server.run("wireplumber --version").contains(" 0.4")
    }

    /// Whether it is not there, or ends because PipeWire is not there.
    func isDown(_ victim: Victim) -> Bool {
        down.contains(victim) || victim.part != nil && down.contains(.pipewire)
    }

    /// Returns what was wrong with its end, or nil.
    func kill(_ victim: Victim, _ signal: Int32) async -> String? {
        report.count("kills")
        report.count(victim.count)
        down.insert(victim)
        switch victim {
        case .point: return problem(victim, signal, await server.stopEnforcing(signal))
        case .permd: return problem(victim, signal, await server.permd.stop(signal))
        case .pipewire, .wireplumber, .pulse:
            if let part = victim.part { await server.stop(part, signal) }
            return nil
        }
    }

    /// Our programs run until they are killed, and end in order on SIGTERM.
    private func problem(_ victim: Victim, _ signal: Int32, _ exit: ChildProcess.Exit?) -> String? {
        let expected = signal == SIGTERM ? ChildProcess.Exit.exited(0) : .signaled(signal)
        return exit == expected ? nil : "\(victim.rawValue) ended with \(exit.map { "\($0)" } ?? "nothing")"
    }

    /// Starts what is down: the sound servers one after the other, permd and permd-pipewire at any moment.
    func restore(_ dice: Dice) async throws {
        var dice = dice
        let delays = (0..<3).map { _ in dice.number(1...SoundVictims.longestAway) }
        let signal = dice.pick([SIGKILL, SIGTERM])
        async let servers: Void = restoreServers(after: delays[0], signal)
        async let permd: Void = restore(.permd, after: delays[1]) { try await self.server.permd.start() }
        async let point: Void = restore(.point, after: delays[2]) { try await self.server.enforce() }
        _ = try await (servers, permd, point)
        down = []
    }

    private func restore(
        _ victim: Victim, after delay: Int, _ start: @escaping @LoopActor () async throws -> Void
    ) async throws {
        guard down.contains(victim) else { return }
        await Bench.pause(milliseconds: delay)
        try await start()
    }

    private func restoreServers(after delay: Int, _ signal: Int32) async throws {
        var parts = SoundServer.Part.allCases.filter { part in down.contains { $0.part == part } }
        guard !parts.isEmpty else { return }
        if parts.contains(.pipewire) || needsNewServer && parts.contains(.wireplumber) {
            parts = SoundServer.Part.allCases
        }
        await Bench.pause(milliseconds: delay)
        for part in parts { await server.stop(part, signal) }
        for part in parts { try await server.start(part) }
    }
}
