// The arguments of RequestAccess and RequestAccessFor, decoded and checked.

import DBus
import PermissionCore
import PermissionModel

struct RequestOptions {
    let permissions: [Permission]
    let token: String?
    private var reasons: [Permission: String] = [:]
    private let explanation: Explanation?
    private let parentWindow: String
    private let hold: UInt32
    private let isInteractive: Bool
    private let options: Options

    init(_ permissions: Value, _ options: Value) throws(PermissionError) {
        self.permissions = try parsePermissions(permissions)
        guard !self.permissions.isEmpty else {
            throw PermissionError(.invalidArguments, "the list of permissions is empty")
        }
        let options = try Options(options)
        self.options = options
        token = try options.string("handle_token")
        if let token, !BusNames.isToken(token) {
            throw PermissionError(.invalidArguments, "handle_token \(quoted(token)) does not match [A-Za-z0-9_]{1,64}")
        }
        hold = try options.uint32("hold") ?? 0
        guard hold <= Limits.maximumHold else {
            throw PermissionError(
                .invalidArguments, "hold is \(hold); the maximum is \(Limits.maximumHold) seconds")
        }
        parentWindow = try options.string("parent_window") ?? ""
        guard RequestOptions.isParentWindow(parentWindow) else {
            throw PermissionError(
                .invalidArguments, "parent_window \(quoted(parentWindow)) is neither x11:XID nor wayland:HANDLE")
        }
        if let texts = try options.table("reasons") {
            for permission in self.permissions {
                if let text = texts[permission.rawValue] { reasons[permission] = SafeText.body(text) }
            }
        }
        explanation = try options.pair("explanation").map {
            Explanation(title: SafeText.title($0.0), body: SafeText.body($0.1))
        }
        isInteractive = try options.bool("interactive") ?? true
    }

    /// The option `device_name` of enforcement points. For apps it is an unknown one, which is ignored.
    func deviceName() throws(PermissionError) -> String { SafeText.title(try options.string("device_name") ?? "") }

    func apply(to request: inout Request) {
        request.reasons = reasons
        request.explanation = explanation
        request.parentWindow = parentWindow
        request.hold = hold
        request.isInteractive = isInteractive
    }

    /// Whether the text is empty, `x11:XID` or `wayland:HANDLE`, as in portals. Real handles are far shorter.
    static func isParentWindow(_ text: String) -> Bool {
        text.isEmpty
            || (text.hasPrefix("x11:") || text.hasPrefix("wayland:")) && text.utf8.count <= 256
                && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
