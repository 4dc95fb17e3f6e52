// Attacks through org.permd.Enforcement1, where calls may carry descriptors and name other apps.

import CLinux
import Glibc
import PermissionModel

extension Attacker {
    /// One descriptor more than a call of the interface has a use for.
    private static let descriptors = 2
    /// What programs outside any sandbox ask for.
    static let pointApp = "flatpak:org.example.Point"

    mutating func points(_ peer: RawPeer) {
        let own = clinux_pidfd_open(getpid(), 0)
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer {
            close(own)
            close(null)
        }
        for number in 0..<dice.number(1...40) {
            let passed = dice.pick([own, own, null])
            switch dice.number(0...3) {
            case 0: peer.send(named(peer, number))
            case 1: peer.send(Attacker.subscription(peer))
            default:
                let message = passing(peer, number)
                peer.send(message, with: passed, copies: Attacker.descriptors)
            }
        }
        // A process that exits, and a point that leaves, end their requests.
        if dice.oneIn(2) { _ = peer.receive(wait: false) } else { holdOpen(peer) }
    }

    /// A request or a question about an app that is given by its name.
    private mutating func named(_ peer: RawPeer, _ number: Int) -> [UInt8] {
        let isSandboxed = access("/.flatpak-info", F_OK) == 0
        let sandboxed = isSandboxed ? "flatpak:org.example.Victim" : "\(Attacker.pointApp)\(number)"
        let app = dice.pick([sandboxed, sandboxed, "exe:/bin/sh", "flatpak:", ""])
        let asks = dice.oneIn(2)
        return peer.call(
            BusNames.service, Attacker.root, BusNames.enforcement, asks ? "RequestAccessFor" : "GetStatusFor",
            asks ? "vasa{sv}" : "vas", wantsReply: dice.oneIn(2)
        ) { wire in
            wire.signature("s")
            wire.string(app)
            wire.strings(["microphone"])
            if asks { wire.options([Attacker.token("n\(number)")]) }
        }
    }

    private static func subscription(_ peer: RawPeer) -> [UInt8] {
        peer.call(
            BusNames.service, Attacker.root, BusNames.enforcement, "Subscribe", nil, wantsReply: false
        ) { _ in }
    }

    /// A request about the process behind the first descriptor.
    private mutating func passing(_ peer: RawPeer, _ number: Int) -> [UInt8] {
        var header = Wire.Header()
        header.serial = peer.nextSerial()
        header.path = Attacker.root
        header.interface = BusNames.enforcement
        header.member = dice.pick(["RequestAccessFor", "GetStatusFor"])
        header.destination = BusNames.service
        header.signature = header.member == "GetStatusFor" ? "vas" : "vasa{sv}"
        header.descriptors = UInt32(Attacker.descriptors)
        return Wire.message(
            header,
            Wire.body { wire in
                wire.signature("h")
                wire.uint32(UInt32(dice.number(0...Attacker.descriptors)))
                wire.strings(["microphone"])
                if header.member == "RequestAccessFor" { wire.options([Attacker.token("p\(number)")]) }
            })
    }
}
