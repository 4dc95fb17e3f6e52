// The attacks that hold more than they may, or end connections.

import CLinux
import DBus
import Glibc
import PermissionModel
import TestSupport

extension Attacker {
    /// As many as every bus forwards in one message.
    private static let descriptorsPerMessage = 16

    mutating func descriptors() throws {
        let null = UnixFD(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        let passed = [Int32](repeating: null.raw, count: Attacker.descriptorsPerMessage)
        for _ in 0..<dice.number(2...16) {
            let peer = try connect()
            for _ in 0..<dice.number(1...8) {
                var call = Attacker.status
                call.interface = dice.pick([BusNames.access, BusNames.policy, BusNames.portalAccess])
                call.member = dice.pick(["GetStatus", "RequestAccess", "AccessDialog"])
                try peer.send(call, descriptors: passed)
            }
            if dice.oneIn(2) { keep(peer) }
        }
    }

    mutating func huge(_ peer: RawBusClient) throws {
        // libdbus refuses arrays above 64 MiB and messages above 128 MiB.
        let (mebibytes, arrays) = dice.pick([(1, 1), (17, 1), (60, 1), (66, 1), (60, 2)])
        let array = RawMessage.zeros(mebibytes << 20)
        let serial = try peer.send(
            Attacker.status(String(repeating: "ay", count: arrays), arrays == 1 ? array : array + array))
        if dice.oneIn(2) { _ = try peer.answer(to: serial) }
    }

    static func status(_ signature: String, _ body: [UInt8]) -> RawMessage {
        var call = status
        (call.signature, call.body) = (signature, body)
        return call
    }

    mutating func closing(_ peer: RawBusClient) throws {
        for number in 0..<dice.number(20...200) {
            var request = Attacker.request(permissions(), ["handle_token": .string("t\(number)")])
            let path = BusNames.requestPath(owner: peer.uniqueName, token: "t\(number)")
            var close = RawMessage.call(BusNames.service, path, BusNames.request, "Close")
            (request.expectsReply, close.expectsReply) = (false, false)
            try peer.send(request)
            try peer.send(close)
        }
        peer.discardReceived()
    }

    mutating func leaving() throws {
        for _ in 0..<dice.number(1...20) {
            let peer = try connect()
            var bytes = (0...1).flatMap {
                Attacker.request(permissions(), ["handle_token": .string("t\($0)")]).bytes
            }
            if dice.oneIn(2) { bytes.removeLast(dice.number(1...bytes.count - 1)) }
            try peer.write(bytes)
            if dice.oneIn(3) { usleep(UInt32(dice.number(0...3000))) }
        }
    }

    mutating func unread(_ peer: RawBusClient) throws {
        for _ in 0..<dice.number(100...4000) { try peer.send(Attacker.status) }
    }

    mutating func storm() throws {
        for _ in 0..<dice.number(10...150) { try connect().send(Attacker.status) }
    }

    mutating func malformed(_ peer: RawBusClient) throws {
        var call = Attacker.status
        switch dice.number(0...5) {
        // libdbus since 1.13 treats this field as an object path; dbus-broker forwards it unchanged.
        case 0: call.furtherFields = [(10, "no path")]
        case 1: call.furtherFields = [(UInt8(dice.number(11...255)), "unknown")]
        case 2: call.interface = "org.freedesktop.DBus.Local"
        case 3: call.signature = "a{sv}"
        case 4: call.path = "/org/freedesktop/DBus/Local"
        default: call.descriptorCount = 3
        }
        try peer.send(call)
    }

    // MARK: Enforcement points

    /// What programs outside any sandbox ask for.
    static let pointApp = "flatpak:org.example.Point"

    mutating func points(_ peer: RawBusClient) throws {
        let own = UnixFD(owning: clinux_pidfd_open(getpid(), 0))
        let null = UnixFD(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        for number in 0..<dice.number(1...40) {
            switch dice.number(0...3) {
            case 0: try peer.send(point(.string(app(number)), number))
            case 1: try peer.send(.call(BusNames.service, BusNames.root, BusNames.enforcement, "Subscribe"))
            default:
                // One descriptor more than the call has a use for, and indices of none.
                let passed = dice.pick([own, own, null]).raw
                try peer.send(point(.uint32(UInt32(dice.number(0...2))), number), descriptors: [passed, passed])
            }
        }
        // A process that exits, and a point that leaves, end their requests.
        if dice.oneIn(2) { peer.discardReceived() } else { keep(peer) }
    }

    /// A question or a request about an app, given by its name or by the index of a descriptor.
    private mutating func point(_ app: Value, _ number: Int) -> RawMessage {
        var arguments: [Value] = [.variant(app), .strings(["microphone"])]
        let asks = dice.oneIn(2)
        if asks { arguments.append(.properties(["handle_token": .string("p\(number)")])) }
        var call = RawMessage.call(
            BusNames.service, BusNames.root, BusNames.enforcement, asks ? "RequestAccessFor" : "GetStatusFor",
            arguments)
        // An index is encoded like a number, and has another type.
        if case .uint32 = app { call.body[1] = UInt8(ascii: "h") }
        return call
    }

    private mutating func app(_ number: Int) -> String {
        let isSandboxed = access("/.flatpak-info", F_OK) == 0
        let usual = isSandboxed ? "flatpak:org.example.Victim" : "\(Attacker.pointApp)\(number)"
        return dice.pick([usual, usual, "exe:/bin/sh", "flatpak:", ""])
    }
}
