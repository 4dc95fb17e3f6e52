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

    /// The object of a request: the owner's unique name without its `:` and with `.` as `_`, then the token.
    public static func requestPath(owner: String, token: String) -> String {
        let sender = String(owner.drop { $0 == ":" }.map { $0 == "." ? "_" : $0 })
        return "\(requestRoot)/\(sender)/\(token)"
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
