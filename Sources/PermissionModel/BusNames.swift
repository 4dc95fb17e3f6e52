// The D-Bus names and paths that permd has or uses.

/// The D-Bus names, interfaces and object paths that permd has or uses.
public enum BusNames {
    /// The name of the daemon on the session bus.
    public static let service = "org.permd"
    /// The name that the bus starts when a prompt is due and no agent is registered.
    public static let agentService = "org.permd.Agent"
    /// The name that the bus starts when something is used, or granted for ever.
    public static let indicatorService = "org.permd.Indicator"
    /// The name that the bus starts when the window Permissions is opened.
    public static let settingsService = "org.permd.Settings"
    /// The daemon's object.
    public static let root = "/org/permd"
    /// The parent path of the objects of requests.
    public static let requestRoot = "/org/permd/request"

    /// The interface for apps.
    public static let access = "org.permd.Access1"
    /// The interface of a request's object.
    public static let request = "org.permd.Request1"
    /// The interface with which agents register.
    public static let agentManager = "org.permd.AgentManager1"
    /// The interface that agents implement.
    public static let agent = "org.permd.Agent1"
    /// The interface for settings programs: decisions, history and rules.
    public static let policy = "org.permd.Policy1"
    /// The interface for settings programs: the devices.
    public static let devices = "org.permd.Devices1"
    /// The interface for enforcement points.
    public static let enforcement = "org.permd.Enforcement1"
    /// The interface for settings programs: who uses which device now.
    public static let usage = "org.permd.Usage1"

    /// The name of permd-guard on the system bus, its interface and its object.
    public static let guardService = "org.permd.Guard"
    public static let guardInterface = "org.permd.Guard1"
    public static let guardObject = "/org/permd/Guard"
    /// The names of permd-gate before BlueZ and before GeoClue; interface and object are those of the guard.
    public static let bluetoothGateService = "org.permd.Gate.BlueZ"
    public static let locationGateService = "org.permd.Gate.GeoClue"
    /// The interface by which points of the system ask a permd, and its object.
    public static let guardClientInterface = "org.permd.GuardClient1"
    public static let guardClientObject = "/org/permd/GuardClient"
    /// The parent path of the requests that the guard asks for, which are no objects.
    public static let guardRequestRoot = "/org/permd/guard"

    /// The name of the daemon as a backend of xdg-desktop-portal.
    public static let portalBackend = "org.freedesktop.impl.portal.desktop.permd"
    /// The name of xdg-desktop-portal.
    public static let portal = "org.freedesktop.portal.Desktop"
    /// The object of xdg-desktop-portal.
    public static let portalRoot = "/org/freedesktop/portal/desktop"
    /// The parent path of the handles of xdg-desktop-portal's requests.
    public static let portalRequestRoot = "/org/freedesktop/portal/desktop/request"
    /// The interface with which xdg-desktop-portal asks a backend to show a dialog.
    public static let portalAccess = "org.freedesktop.impl.portal.Access"
    /// The interface with which xdg-desktop-portal closes a dialog.
    public static let portalRequest = "org.freedesktop.impl.portal.Request"
    /// The name of the permission store of xdg-desktop-portal, and of its interface.
    public static let portalStore = "org.freedesktop.impl.portal.PermissionStore"
    /// The object of that permission store.
    public static let portalStorePath = "/org/freedesktop/impl/portal/PermissionStore"

    /// Returns the object path of a request, `/org/permd/request/SENDER/TOKEN`.
    ///
    /// - Parameters:
    ///   - owner: The unique name of the caller. SENDER is this name without its `:` and with `_` for `.`.
    ///   - token: The request's token; see ``isToken(_:)``.
    public static func requestPath(owner: String, token: String) -> String {
        let sender = String(owner.drop { $0 == ":" }.map { $0 == "." ? "_" : $0 })
        return "\(requestRoot)/\(sender)/\(token)"
    }

    /// Returns the unique name of the connection that made a portal's request, which its handle
    /// `/org/freedesktop/portal/desktop/request/SENDER/TOKEN` contains; nil for a handle of another form.
    public static func portalCaller(ofHandle handle: String) -> String? {
        guard handle.hasPrefix(portalRequestRoot + "/") else { return nil }
        let parts = handle.dropFirst(portalRequestRoot.count + 1).split(
            separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), parts[0].contains("_") else { return nil }
        return ":" + parts[0].map { $0 == "_" ? "." : String($0) }.joined()
    }

    /// Whether the text may be the last element of a request's path: `[A-Za-z0-9_]{1,64}`.
    public static func isToken(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
