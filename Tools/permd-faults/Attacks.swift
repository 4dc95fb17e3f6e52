// The attacks on permd itself: what an app may send, but in excess.

import Glibc
import PermissionModel

extension Attacker {
    /// As many as every bus forwards in one message.
    private static let descriptorsPerMessage = 16
    private static let mebibyte = 1 << 20

    mutating func descriptors(_ peer: RawPeer) {
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(null) }
        for _ in 0..<dice.number(2...16) {
            guard let peer = RawPeer(path: socket) else { return }
            for _ in 0..<dice.number(1...8) {
                var header = Wire.Header()
                header.serial = peer.nextSerial()
                header.path = Attacker.root
                header.interface = dice.pick([BusNames.access, BusNames.policy, BusNames.portalAccess])
                header.member = dice.pick(["GetStatus", "RequestAccess", "AccessDialog"])
                header.destination = BusNames.service
                header.signature = "as"
                header.descriptors = UInt32(Attacker.descriptorsPerMessage)
                let message = Wire.message(header, Wire.body { $0.strings([]) })
                peer.send(message, with: null, copies: Attacker.descriptorsPerMessage)
            }
            if dice.oneIn(2) { holdOpen(peer) }
        }
    }

    mutating func huge(_ peer: RawPeer) {
        // The body has one or two arrays: libdbus refuses arrays above 64 MiB and messages above 128 MiB.
        let (size, arrays) = dice.pick([(1, 1), (17, 1), (60, 1), (66, 1), (60, 2)])
        let filler = [UInt8](repeating: 7, count: size * Attacker.mebibyte)
        let message = peer.call(
            BusNames.service, Attacker.root, BusNames.access, "GetStatus", String(repeating: "ay", count: arrays)
        ) { wire in
            for _ in 0..<arrays { wire.array(1) { $0.append(filler) } }
        }
        peer.send(message)
        if dice.oneIn(2) { _ = peer.answer(to: peer.lastSerial) }
    }

    mutating func closing(_ peer: RawPeer) {
        for number in 0..<dice.number(20...200) {
            peer.send(Attacker.request(peer, permissions(), [Attacker.token("c\(number)")]))
            let path = BusNames.requestPath(owner: peer.uniqueName, token: "c\(number)")
            peer.send(peer.call(BusNames.service, path, BusNames.request, "Close", wantsReply: false))
        }
        _ = peer.receive(wait: false)
    }

    mutating func leaving(_ peer: RawPeer) {
        for number in 0..<dice.number(1...20) {
            guard let peer = RawPeer(path: socket) else { return }
            var bytes = Attacker.request(peer, permissions(), [Attacker.token("l\(number)")])
            bytes += Attacker.request(peer, permissions(), [Attacker.token("m\(number)")])
            if dice.oneIn(2) { bytes.removeLast(dice.number(1...bytes.count - 1)) }
            peer.send(bytes)
            if dice.oneIn(3) { usleep(UInt32(dice.number(0...3000))) }
        }
    }

    mutating func texts(_ peer: RawPeer) {
        let pieces = [
            "\u{FF21}\u{FF22}\u{FF23}", "\u{202E}\u{2066}yes", "e\u{301}\u{301}\u{301}\u{301}", "\u{9B}31m",
            "\u{1B}[2J", "\n\n\n",
            "\u{200B}\u{200D}", "<b>&lt;", "%n%s", "👩‍👩‍👧‍👦", "\u{E0061}\u{E0062}", "\u{2800}\u{3164}", "[1] Yes, go on",
        ]
        for number in 0..<dice.number(1...5) {
            let text = (0..<dice.number(1...200)).map { _ in dice.pick(pieces) }.joined()
            let asked = permissions()
            let options: [(String, String, (inout Wire) -> Void)] = [
                Attacker.token("t\(number)"),
                (
                    "reasons", "a{ss}",
                    { wire in
                        wire.array(8) {
                            for permission in asked {
                                $0.align(8)
                                $0.string(permission)
                                $0.string(text)
                            }
                        }
                    }
                ),
                (
                    "explanation", "(ss)",
                    { wire in
                        wire.align(8)
                        wire.string(text)
                        wire.string(text)
                    }
                ),
            ]
            peer.send(Attacker.request(peer, asked, options))
        }
        _ = peer.receive()
    }

    mutating func nonsense(_ peer: RawPeer) {
        let texts = [
            "", "..", "../../x", "a/b", "a b", String(repeating: "x", count: 65), "é", "x11:", "wayland:\u{1B}", "ok",
            BusNames.requestPath(owner: peer.uniqueName, token: "x"), String(repeating: "a", count: 70_000),
        ]
        for _ in 0..<dice.number(1...30) {
            let text = dice.pick(texts)
            let key = dice.pick([
                "handle_token", "parent_window", "interactive", "hold", "reasons", "explanation", "unknown",
            ])
            peer.send(Attacker.request(peer, [dice.pick(["camera", "", text])], [(key, "s", { $0.string(text) })]))
            let path = dice.pick(["/", "/org", "/org/permd/request/1_1/x", Attacker.root])
            peer.send(
                peer.call(
                    BusNames.service, path,
                    dice.pick([nil, BusNames.request, "org.freedesktop.DBus.Properties", "a.b"]),
                    dice.pick(["Close", "GetAll", "Introspect", "Get"]), "s", wantsReply: dice.oneIn(2)
                ) { $0.string(text) })
        }
        _ = peer.receive()
    }

    mutating func holds(_ peer: RawPeer) {
        for number in 0..<dice.number(1...40) {
            let seconds = UInt32(dice.pick([1, 15, 15, 16, Int(UInt32.max)]))
            peer.send(
                Attacker.request(
                    peer, permissions(),
                    [Attacker.token("h\(number)"), ("hold", "u", { $0.uint32(seconds) })]))
        }
        _ = peer.receive()
    }

    mutating func unread(_ peer: RawPeer) {
        for _ in 0..<dice.number(100...4000) {
            guard peer.send(Attacker.status(peer), flags: Int32(MSG_DONTWAIT)) else { return }
        }
    }

    mutating func storm() {
        for _ in 0..<dice.number(10...150) {
            guard let peer = RawPeer(path: socket) else { return }
            peer.send(Attacker.status(peer, wantsReply: dice.oneIn(2)))
        }
    }

    mutating func malformed(_ peer: RawPeer) {
        var header = Wire.Header()
        header.serial = peer.nextSerial()
        header.path = Attacker.root
        header.interface = BusNames.access
        header.member = "GetStatus"
        header.destination = BusNames.service
        header.signature = "as"
        switch dice.number(0...5) {
        // libdbus since 1.13 treats this field as an object path; dbus-broker forwards it unchanged.
        case 0: header.further = [(10, "no path")]
        case 1: header.further = [(UInt8(dice.number(11...255)), "unknown")]
        case 2: header.interface = "org.freedesktop.DBus.Local"
        case 3: header.signature = "a{sv}"
        case 4: header.path = "/org/freedesktop/DBus/Local"
        default: header.descriptors = 3
        }
        peer.send(Wire.message(header, Wire.body { $0.strings([]) }))
    }
}
