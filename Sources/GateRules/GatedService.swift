// What permd-gate knows of a service: which of its calls ask, what tells of devices or of a location, and which programs of
// the session pass. Another service is another table.

package import PermissionModel

/// What happens to a call of a program about which nothing is decided.
package enum CallRule: Sendable, Hashable {
    /// It is passed on.
    case free
    /// It is passed on, and what its reply tells of devices is left out.
    case view
    /// It waits until the person has answered.
    case ask
}

/// What a call is known by. A call without an interface is looked up by its member alone, as services do.
package struct GatedCall: Sendable, Hashable {
    package let path: String
    package let interface: String?
    package let member: String
    /// The first argument, if it is a string: of org.freedesktop.DBus.Properties, the interface.
    package let firstText: String?

    package init(path: String, interface: String?, member: String, firstText: String?) {
        (self.path, self.interface, self.member, self.firstText) = (path, interface, member, firstText)
    }
}

package struct GatedService: Sendable {
    /// A row about calls; nil stands for any.
    package struct Row: Sendable {
        let interface: String
        let members: Set<String>?
        let rule: CallRule

        init(_ rule: CallRule, _ interface: String, _ members: Set<String>? = nil) {
            (self.rule, self.interface, self.members) = (rule, interface, members)
        }
    }

    /// Its name on the system bus.
    package let name: String
    /// The name of permd-gate before it.
    package let gate: String
    package let permission: Permission
    /// Programs of the session that call it at its start, by the names of their executables, with the unit of the user's
    /// systemd whose main process they are. They do it for the desktop, or ask for each app themselves.
    package let sessionPrograms: [String: String]
    /// Whether an object tells of what the permission is for: a device nearby, or a location.
    package let isTelling: @Sendable (_ path: String) -> Bool
    /// Whether a call about such an object is never free.
    let rows: [Row]
    /// Signals, beside those of telling objects, that tell it, as INTERFACE.MEMBER.
    let tellingSignals: Set<String>

    let useRows: [UseRow]
    /// The device in use, by its ID in org.permd.Devices1.
    package let device: @Sendable (GateUse) -> String

    /// A call of what no row has asks: a new interface does until somebody has looked at it.
    package func rule(for call: GatedCall) -> CallRule {
        let interface = call.interface ?? ""
        if interface == "org.freedesktop.DBus.Peer" { return .free }
        if isTelling(call.path) { return .ask }
        // Reads, of objects that do not tell.
        if interface == "org.freedesktop.DBus.Introspectable" { return .view }
        if interface == "org.freedesktop.DBus.Properties", ["Get", "GetAll"].contains(call.member) { return .free }
        return rows.first { $0.interface == interface && ($0.members?.contains(call.member) ?? true) }?.rule ?? .ask
    }

    /// Whether a signal tells of a device or of a location, so that only those get it who may know.
    package func tells(path: String, interface: String, member: String, firstText: String?) -> Bool {
        if isTelling(path) || tellingSignals.contains("\(interface).\(member)") { return true }
        // Of an object that has come or gone.
        return interface == "org.freedesktop.DBus.ObjectManager" && firstText.map(isTelling) ?? false
    }
}

extension GatedService {
    package static let all = [bluez, geoClue]
}
