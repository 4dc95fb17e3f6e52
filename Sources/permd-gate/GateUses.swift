// What callers use the service for, of which their users' permds are told. Programs that pass are nobody's concern.

import DBus
import GateRules
import PermissionModel
import SystemPoint

extension GateService {
    /// The calls of a caller that may begin a use, and are not answered. More are not noticed.
    private static let mostBeginning = 64

    /// A call is passed on.
    func noticeUse(_ call: GatedCall, _ serial: UInt32, of caller: Caller, _ link: ServiceLink) {
        guard caller.identity != nil else { return }
        if let use = service.use(begunBy: call), caller.beginning.count < GateService.mostBeginning {
            caller.beginning[serial] = use
            unlessItLasts(use, of: caller, link) { [weak caller] in caller?.beginning[serial] = nil }
        } else if let use = service.use(endedBy: call) {
            end(use, of: caller)
        }
    }

    /// Runs `body`, before the service answers what follows, if a use goes on already that no caller has begun, as that of a
    /// device that is connected: the person, or the device itself, has.
    private func unlessItLasts(
        _ use: GateUse, of caller: Caller, _ link: ServiceLink, _ body: @escaping @LoopActor () -> Void
    ) {
        guard let lasting = service.lasting(use), !isUsed(use, besides: caller) else { return }
        let property = [Value.string(lasting.interface), .string(lasting.property)]
        link.call(use.path, "org.freedesktop.DBus.Properties", "Get", property) { reply in
            if reply.body?.first == .variant(.bool(true)) { body() }
        }
    }

    /// Whether another caller uses it, or is about to: a device is connected before the call that connects it is answered.
    private func isUsed(_ use: GateUse, besides caller: Caller) -> Bool {
        callers.values.contains {
            $0 !== caller && ($0.uses.contains(use) || $0.beginning.values.contains(use))
        }
    }

    /// The service answers a call.
    func noticeReply(_ serial: UInt32, isError: Bool, to caller: Caller) {
        guard let use = caller.beginning.removeValue(forKey: serial), !isError else { return }
        caller.uses.insert(use)
        report(caller)
    }

    /// What lasts is over, whoever ended it, as the connection of a device.
    func noticeDisconnection(_ signal: RelayMessage) {
        guard signal.header.member == "PropertiesChanged",
            let (use, property) = signal.header.path.flatMap({ service.lasting(at: $0) })
        else { return }
        let users = callers.values.filter { $0.uses.contains(use) }
        guard !users.isEmpty, let body = signal.body, body.count == 3, body[1].properties?[property] == .bool(false)
        else { return }
        for caller in users { end(use, of: caller) }
    }

    private func end(_ use: GateUse, of caller: Caller) {
        if caller.uses.remove(use) != nil { report(caller) }
    }

    /// Whatever it uses the service for is over.
    func endUses(of caller: Caller) {
        (caller.beginning, caller.uses) = ([:], [])
        report(caller)
    }

    /// Ends what goes on after the caller's end, unless another program uses it.
    func cutUses(of caller: Caller, _ link: ServiceLink) {
        let uses = caller.uses.union(caller.beginning.values)
        endUses(of: caller)
        for use in uses where !isUsed(use, besides: caller) {
            guard let row = service.lasting(use) else { continue }
            link.call(use.path, row.interface, row.end) { _ in }
        }
    }

    /// A permd has registered, which knows of no use.
    func reportUses(of user: UInt32) {
        for caller in callers.values where caller.identity?.user == user {
            caller.reportedUse = nil
            report(caller)
        }
    }

    /// All uses of a caller are one for permd.
    private func report(_ caller: Caller) {
        guard let identity = caller.identity else { return }
        if let use = caller.uses.first, caller.reportedUse == nil {
            lastUse += 1
            caller.reportedUse = lastUse
            permds.beginUse(
                identity.user, lastUse, identity.pidfd, service.permission, device: service.device(use))
        } else if caller.uses.isEmpty, let number = caller.reportedUse {
            caller.reportedUse = nil
            permds.endUse(identity.user, number)
        }
    }
}
