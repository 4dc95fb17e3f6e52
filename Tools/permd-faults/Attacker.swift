// The attacking process, which runs inside or outside a sandbox.

import Glibc
import PermissionModel

/// `permd-faults attacker SEED ATTACK,…`: attacks until its input ends, then prints `did COUNT ATTACK` for each attack,
/// and `lost TEXT` for whatever should not have been possible.
struct Attacker {
    var dice: Dice
    let attacks: [Attack]
    let socket: String
    /// Connections that are kept open while others are made.
    private var kept: [RawPeer] = []
    private var counts: [Attack: Int] = [:]

    /// The maximum number of connections kept open in addition to the one in use.
    private static let keptPeers = 24
    static let root = BusNames.root

    static func main(_ arguments: [String]) -> Int32 {
        let address = getenv("DBUS_SESSION_BUS_ADDRESS").map { String(cString: $0) } ?? ""
        guard arguments.count == 2, let seed = UInt64(arguments[0]), address.hasPrefix("unix:path=") else { return 64 }
        let socket = String(address.dropFirst("unix:path=".count).prefix { $0 != "," })
        let attacks = arguments[1].split(separator: ",").compactMap { Attack(rawValue: String($0)) }
        guard !attacks.isEmpty else { return 64 }
        var attacker = Attacker(dice: Dice(seed: seed), attacks: attacks, socket: socket)
        Report.say("attacks")
        attacker.run()
        return 0
    }

    private init(dice: Dice, attacks: [Attack], socket: String) {
        self.dice = dice
        self.attacks = attacks
        self.socket = socket
    }

    private mutating func run() {
        while !Attacker.isOver() {
            let attack = dice.pick(attacks)
            guard let peer = RawPeer(path: socket) else { continue }
            play(attack, peer)
            counts[attack, default: 0] += 1
            kept.append(peer)
            while kept.count > Attacker.keptPeers || !kept.isEmpty && dice.oneIn(3) {
                kept.remove(at: dice.number(0...kept.count - 1))
            }
        }
        kept = []
        for (attack, count) in counts { Report.say("did \(count) \(attack.rawValue)") }
    }

    private mutating func play(_ attack: Attack, _ peer: RawPeer) {
        switch attack {
        case .descriptors: descriptors(peer)
        case .huge: huge(peer)
        case .closing: closing(peer)
        case .points: points(peer)
        case .forged: forged(peer)
        case .forbidden: forbidden(peer)
        case .names: names(peer)
        case .leaving: leaving(peer)
        case .texts: texts(peer)
        case .nonsense: nonsense(peer)
        case .holds: holds(peer)
        case .unread: unread(peer)
        case .storm: storm()
        case .malformed: malformed(peer)
        }
    }

    mutating func holdOpen(_ peer: RawPeer) { kept.append(peer) }

    static func isOver() -> Bool {
        var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        return poll(&input, 1, 0) != 0
    }

    // MARK: Calls

    static func status(_ peer: RawPeer, wantsReply: Bool = true) -> [UInt8] {
        peer.call(BusNames.service, root, BusNames.access, "GetStatus", "as", wantsReply: wantsReply) {
            $0.strings([])
        }
    }

    static func request(
        _ peer: RawPeer, _ permissions: [String], wantsReply: Bool = false,
        _ options: [(String, String, (inout Wire) -> Void)]
    ) -> [UInt8] {
        peer.call(BusNames.service, root, BusNames.access, "RequestAccess", "asa{sv}", wantsReply: wantsReply) {
            $0.strings(permissions)
            $0.options(options)
        }
    }

    static func token(_ text: String) -> (String, String, (inout Wire) -> Void) {
        ("handle_token", "s", { $0.string(text) })
    }

    mutating func permissions() -> [String] {
        let all = Permission.allCases.map(\.rawValue).shuffled(using: &dice)
        return Array(all.prefix(dice.number(1...all.count)))
    }
}
