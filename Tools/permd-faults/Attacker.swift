// The attacking process, which runs inside or outside a sandbox.

import DBus
import Glibc
import PermissionModel
import TestSupport

/// `permd-faults attacker SEED ATTACK,…`: attacks until its input ends, then prints `did COUNT ATTACK` for each attack.
struct Attacker {
    var dice: Dice
    private let attacks: [Attack]
    private let address: String
    /// Connections that are kept open while others are made.
    private var kept: [RawBusClient] = []
    private var counts: [Attack: Int] = [:]

    /// The maximum number of connections kept open in addition to the one in use.
    private static let keptPeers = 24
    /// Seconds after which the bus is considered to accept or answer nothing.
    private static let patience = 1

    static let status = RawMessage.call(
        BusNames.service, BusNames.root, BusNames.access, "GetStatus", [.strings([])])

    static func main(_ arguments: [String]) -> Int32 {
        guard arguments.count == 2, let seed = UInt64(arguments[0]), let address = getenv("DBUS_SESSION_BUS_ADDRESS")
        else { return 64 }
        let attacks = arguments[1].split(separator: ",").compactMap { Attack(rawValue: String($0)) }
        guard !attacks.isEmpty else { return 64 }
        var attacker = Attacker(dice: Dice(seed: seed), attacks: attacks, address: String(cString: address))
        Report.say("attacks")
        attacker.run()
        return 0
    }

    private init(dice: Dice, attacks: [Attack], address: String) {
        self.dice = dice
        self.attacks = attacks
        self.address = address
    }

    private mutating func run() {
        while !Attacker.isOver() {
            let attack = dice.pick(attacks)
            guard let peer = try? connect() else { continue }
            // The bus may refuse it, or end the connection.
            try? play(attack, peer)
            counts[attack, default: 0] += 1
            keep(peer)
            while kept.count > Attacker.keptPeers || !kept.isEmpty && dice.oneIn(3) {
                kept.remove(at: dice.number(0...kept.count - 1))
            }
        }
        for (attack, count) in counts { Report.say("did \(count) \(attack.rawValue)") }
    }

    private mutating func play(_ attack: Attack, _ peer: RawBusClient) throws {
        switch attack {
        case .descriptors: try descriptors()
        case .huge: try huge(peer)
        case .closing: try closing(peer)
        case .points: try points(peer)
        case .leaving: try leaving()
        case .unread: try unread(peer)
        case .storm: try storm()
        case .malformed: try malformed(peer)
        case .flood: try flood(peer)
        case .arguments: try arguments(peer)
        case .texts: try texts()
        case .beginnings: try beginnings()
        }
    }

    func connect() throws -> RawBusClient { try RawBusClient(address, patience: Attacker.patience) }

    mutating func keep(_ peer: RawBusClient) { kept.append(peer) }

    private static func isOver() -> Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 0) != 0
    }

    static func request(_ permissions: [String], _ options: [String: Value]) -> RawMessage {
        .call(
            BusNames.service, BusNames.root, BusNames.access, "RequestAccess",
            [.strings(permissions), .properties(options)])
    }

    mutating func permissions() -> [String] {
        let all = Permission.allCases.map(\.rawValue).shuffled(using: &dice)
        return Array(all.prefix(dice.number(1...all.count)))
    }
}
