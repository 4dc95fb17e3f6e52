// The attacks that make permd work: a flood of calls, and large, long and many-valued arguments.

import DBus
import Glibc
import PermissionModel
import TestSupport

extension Attacker {
    /// Enough calls to keep permd busy all the time.
    private static let inFlight = 64
    private static let callsPerSecond = 300
    private static let connections = 32
    private static let newConnections = 8
    /// Hangul jamo, which are compared with their neighbours to find where a character ends.
    private static let text = String(repeating: "\u{1100}", count: 16_000)

    func flood(_ peer: RawBusClient) throws {
        for _ in 0..<Attacker.inFlight { try peer.send(Attacker.status) }
        for _ in 0..<2000 {
            _ = try peer.receive()
            try peer.send(Attacker.status)
        }
    }

    func arguments(_ peer: RawBusClient) throws {
        let bytes = Value.array(of: "y", [Value](repeating: .byte(7), count: 256 << 10))
        let calls = [
            Attacker.status("ay", RawMessage.encoded([bytes])), Attacker.request(["camera"], ["colour": bytes]),
            Attacker.status("as", RawMessage.encoded([.strings([String](repeating: "", count: 32_000))])),
        ]
        for number in 0..<Attacker.callsPerSecond {
            try peer.send(calls[number % calls.count])
            peer.discardReceived()
            usleep(UInt32(1_000_000 / Attacker.callsPerSecond))
        }
    }

    func texts() throws {
        let permissions = Permission.allCases.map(\.rawValue)
        let reasons = Value.stringTable(permissions.map { ($0, Attacker.text) })
        try eachAtOnce(Attacker.connections, Attacker.request(permissions, ["reasons": reasons]))
    }

    func beginnings() throws {
        try eachAtOnce(Attacker.newConnections, Attacker.status("ay", RawMessage.zeros(15 << 20)))
    }

    /// Sends the call on that many new connections, and waits for the answers.
    private func eachAtOnce(_ count: Int, _ call: RawMessage) throws {
        let peers = try (0..<count).map { _ in try connect() }
        let serials = try peers.map { try $0.send(call) }
        for (peer, serial) in zip(peers, serials) { _ = try peer.answer(to: serial) }
    }
}
