// The attacks on trust: unsolicited replies, trusted names, and calls that an app may not make.

import Glibc
import PermissionModel

extension Attacker {
    /// The serials of a program that has just started, and of one that has been running for a while.
    private static let serials: [ClosedRange<Int>] = [1...60, 1...3000]
    /// The number of messages per attack.
    private static let sprayed = 300
    static let trusted = [
        "org.freedesktop.impl.portal.PermissionStore", "org.freedesktop.portal.Desktop", BusNames.agentService,
        "org.freedesktop.impl.portal.desktop.permd",
    ]

    mutating func forged(_ peer: RawPeer) {
        var targets = [BusNames.service]
        peer.send(peer.bus("ListNames"))
        if let names = peer.answer(to: peer.lastSerial) {
            targets += Attacker.strings(names.body).filter { $0.hasPrefix(":") }
        }
        for _ in 0..<Attacker.sprayed {
            guard peer.send(forgery(dice.pick(targets), peer)) else { return }
        }
    }

    private mutating func forgery(_ target: String, _ peer: RawPeer) -> [UInt8] {
        var header = Wire.Header()
        header.serial = peer.nextSerial()
        header.destination = target
        header.wantsReply = false
        if dice.oneIn(4) {
            header.kind = .signal
            let (path, interface, member) = dice.pick([
                ("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameOwnerChanged"),
                ("/org/freedesktop/DBus", "org.freedesktop.DBus", "NameLost"),
                (Attacker.root, BusNames.request, "Response"),
            ])
            (header.path, header.interface, header.member) = (path, interface, member)
            header.signature = "sss"
            return Wire.message(header, Wire.body { for text in [target, target, ""] { $0.string(text) } })
        }
        header.replySerial = UInt32(dice.number(dice.pick(Attacker.serials)))
        if dice.oneIn(5) {
            header.kind = .error
            header.errorName = dice.pick([
                "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.NoReply",
                "org.permd.Error.Failed",
            ])
            return Wire.message(header)
        }
        header.kind = .methodReturn
        let (signature, body) = answer()
        header.signature = signature
        return Wire.message(header, body)
    }

    /// A reply that somebody may wait for: credentials, a name's owner, an agent's answer, a portal's permissions.
    private mutating func answer() -> (String, [UInt8]) {
        let pid = UInt32(dice.pick([1, Int(getpid()), Int(getppid())]))
        switch dice.number(0...4) {
        case 0:
            return (
                "a{sv}",
                Wire.body {
                    $0.options([("ProcessID", "u", { $0.uint32(pid) }), ("UnixUserID", "u", { $0.uint32(geteuid()) })])
                }
            )
        case 1: return ("u", Wire.body { $0.uint32(pid) })
        case 2: return ("s", Wire.body { $0.string(":1.0") })
        case 3: return ("a{sas}v", Attacker.grants())
        default:
            return (
                "sa{sa{sv}}",
                Wire.body { wire in
                    wire.string("answered")
                    wire.array(8) {
                        for permission in Permission.allCases {
                            $0.align(8)
                            $0.string(permission.rawValue)
                            $0.options([
                                ("decision", "s", { $0.string("grant") }), ("duration", "s", { $0.string("always") }),
                            ])
                        }
                    }
                }
            )
        }
    }

    /// A permission store entry in which every app is granted everything.
    private static func grants() -> [UInt8] {
        Wire.body { wire in
            wire.array(8) {
                for app in ["", "org.example.Hostile", "org.example.Victim"] {
                    $0.align(8)
                    $0.string(app)
                    $0.strings(["yes"])
                }
            }
            wire.signature("s")
            wire.string("")
        }
    }

    mutating func forbidden(_ peer: RawPeer) {
        let calls: [(String, String, String, (inout Wire) -> Void)] = [
            (
                BusNames.policy, "SetDecision", "sssa{sv}",
                {
                    for text in ["flatpak:org.example.Hostile", "camera", "grant"] { $0.string(text) }
                    $0.options([])
                }
            ),
            (
                BusNames.policy, "Reset", "ss",
                {
                    $0.string("")
                    $0.string("")
                }
            ),
            (BusNames.policy, "ListDecisions", "a{sv}", { $0.options([]) }),
            (BusNames.policy, "ListHistory", "a{sv}", { $0.options([]) }),
            (BusNames.policy, "Subscribe", "", { _ in }), (BusNames.devices, "Subscribe", "", { _ in }),
            (BusNames.devices, "ListDevices", "s", { $0.string("") }),
            (BusNames.usage, "Subscribe", "", { _ in }), (BusNames.usage, "ListUses", "", { _ in }),
            (
                BusNames.agentManager, "RegisterAgent", "oa{sv}",
                {
                    $0.string("/hostile")
                    $0.options([("level", "s", { $0.string("system") })])
                }
            ),
            (BusNames.enforcement, "Subscribe", "", { _ in }), (BusNames.enforcement, "ListPoints", "", { _ in }),
            (BusNames.enforcement, "GetStatusFor", "vas", { Attacker.status(of: "flatpak:org.example.Victim", &$0) }),
            ("org.freedesktop.DBus.Properties", "GetAll", "s", { $0.string(BusNames.policy) }),
            (BusNames.portalAccess, "AccessDialog", "osssssa{sv}", Attacker.dialog),
        ]
        // Only replies from permd itself count, because other attackers send forged ones.
        guard let permd = peer.owner(of: BusNames.service) else { return }
        for _ in 0..<dice.number(1...10) {
            let (interface, member, signature, body) = dice.pick(calls)
            let path = interface == BusNames.portalAccess ? BusNames.portalRoot : Attacker.root
            peer.send(
                peer.call(BusNames.service, path, interface, member, signature.isEmpty ? nil : signature, body))
            guard let answer = peer.answer(to: peer.lastSerial, from: permd) else { return }
            if answer.kind == Wire.Kind.methodReturn.rawValue { Report.say("lost \(interface).\(member) was served") }
        }
    }

    private static func status(of app: String, _ wire: inout Wire) {
        wire.signature("s")
        wire.string(app)
        wire.strings(["camera"])
    }

    private static func dialog(_ wire: inout Wire) {
        wire.string("/org/freedesktop/portal/desktop/request/1_1/hostile")
        for text in ["org.example.Victim", "", "Use the camera?", "", ""] { wire.string(text) }
        wire.options([])
    }

    mutating func names(_ peer: RawPeer) {
        for name in Attacker.trusted.shuffled(using: &dice).prefix(dice.number(1...Attacker.trusted.count)) {
            peer.send(
                peer.bus("RequestName", "su") {
                    $0.string(name)
                    $0.uint32(6)
                })
            _ = peer.answer(to: peer.lastSerial)
        }
        // Impersonates the portal on behalf of another app.
        peer.send(
            peer.call(
                BusNames.service, BusNames.portalRoot, BusNames.portalAccess, "AccessDialog", "osssssa{sv}",
                wantsReply: false, Attacker.dialog))
        var header = Wire.Header()
        header.kind = .signal
        header.serial = peer.nextSerial()
        header.path = "/org/freedesktop/impl/portal/PermissionStore"
        header.interface = "org.freedesktop.impl.portal.PermissionStore"
        header.member = "Changed"
        header.destination = BusNames.service
        header.signature = "ssbva{sas}"
        peer.send(
            Wire.message(
                header,
                Wire.body { wire in
                    wire.string("devices")
                    wire.string("camera")
                    wire.uint32(0)
                    wire.signature("s")
                    wire.string("")
                    wire.array(8) {
                        $0.align(8)
                        $0.string("org.example.Victim")
                        $0.strings(["yes"])
                    }
                }))
        // Answers calls from programs that trust these names.
        for _ in 0..<dice.number(1...20) {
            guard let asked = peer.receive(wait: dice.oneIn(20)) else { continue }
            guard asked.kind == Wire.Kind.call.rawValue else { continue }
            var reply = Wire.Header()
            reply.kind = .methodReturn
            reply.serial = peer.nextSerial()
            reply.replySerial = asked.serial
            reply.destination = asked.sender
            reply.signature = "a{sas}v"
            peer.send(Wire.message(reply, Attacker.grants()))
        }
    }

    /// The elements of a message body that is an array of strings.
    private static func strings(_ body: ArraySlice<UInt8>) -> [String] {
        var texts: [String] = []
        var place = body.startIndex + 4
        func length(_ place: Int) -> Int { (0..<4).reduce(0) { $0 | Int(body[place + $1]) << (8 * $1) } }
        while place + 4 <= body.endIndex {
            let size = length(place)
            guard place + 4 + size < body.endIndex else { break }
            texts.append(String(decoding: body[place + 4..<place + 4 + size], as: UTF8.self))
            place += 5 + size
            place += (4 - (place - body.startIndex) % 4) % 4
        }
        return texts
    }
}
