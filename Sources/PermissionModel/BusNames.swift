// Every D-Bus name and path of the contract, once.

public enum BusNames {
    public static let service = "org.permd"
    public static let agentService = "org.permd.Agent"
    public static let root = "/org/permd"
    public static let requestRoot = "/org/permd/request"

    public static let access = "org.permd.Access1"
    public static let request = "org.permd.Request1"
    public static let agentManager = "org.permd.AgentManager1"
    public static let agent = "org.permd.Agent1"
    public static let policy = "org.permd.Policy1"
    public static let devices = "org.permd.Devices1"

    /// As the backend of xdg-desktop-portal for `org.freedesktop.impl.portal.Access`.
    public static let portalBackend = "org.freedesktop.impl.portal.desktop.permd"
    public static let portal = "org.freedesktop.portal.Desktop"
    public static let portalRoot = "/org/freedesktop/portal/desktop"
    public static let portalRequestRoot = "/org/freedesktop/portal/desktop/request"
    public static let portalAccess = "org.freedesktop.impl.portal.Access"
    public static let portalRequest = "org.freedesktop.impl.portal.Request"
    /// The portals' own store, also the name of its interface.
    public static let portalStore = "org.freedesktop.impl.portal.PermissionStore"
    public static let portalStorePath = "/org/freedesktop/impl/portal/PermissionStore"

    /// The object of a request: the owner's unique name without its `:` and with `.` as `_`, then the token.
    public static func requestPath(owner: String, token: String) -> String {
        let sender = String(owner.drop { $0 == ":" }.map { $0 == "." ? "_" : $0 })
        return "\(requestRoot)/\(sender)/\(token)"
    }

    /// The connection that a portal's request is of: the unique name in its handle
    /// `/org/freedesktop/portal/desktop/request/SENDER/TOKEN`; nil for a handle of another form.
    public static func portalCaller(ofHandle handle: String) -> String? {
        guard handle.hasPrefix(portalRequestRoot + "/") else { return nil }
        let parts = handle.dropFirst(portalRequestRoot.count + 1).split(
            separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), parts[0].contains("_") else { return nil }
        return ":" + parts[0].map { $0 == "_" ? "." : String($0) }.joined()
    }

    /// `[A-Za-z0-9_]{1,64}`: what may be the last element of a request's path.
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
