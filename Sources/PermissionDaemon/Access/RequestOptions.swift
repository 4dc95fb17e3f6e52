// The options of RequestAccess and RequestAccessFor, decoded and checked.

import DBus
import PermissionCore
import PermissionModel

extension Options {
    /// The keys of RequestAccess.
    static let ofRequest: Set = ["handle_token", "reasons", "explanation", "parent_window", "interactive", "hold"]

    func handleToken() throws(PermissionError) -> String? {
        let token = try string("handle_token")
        if let token, !BusNames.isToken(token) {
            throw PermissionError(.invalidArguments, "handle_token \(quoted(token)) does not match [A-Za-z0-9_]{1,64}")
        }
        return token
    }
}

extension Request {
    mutating func read(_ options: Options) throws(PermissionError) {
        reservation = try options.uint32("hold") ?? 0
        guard reservation <= Limits.maximumReservation else {
            throw PermissionError(
                .invalidArguments, "hold is \(reservation); the maximum is \(Limits.maximumReservation) seconds")
        }
        parentWindow = try options.string("parent_window") ?? ""
        guard Request.isParentWindow(parentWindow) else {
            throw PermissionError(
                .invalidArguments, "parent_window \(quoted(parentWindow)) is neither x11:XID nor wayland:HANDLE")
        }
        let texts = try options.table("reasons") ?? [:]
        for permission in items.compactMap(\.permission) {
            reasons[permission] = texts[permission.rawValue].map(SafeText.body)
        }
        explanation = try options.pair("explanation").map {
            Explanation(title: SafeText.title($0.0), body: SafeText.body($0.1))
        }
        isInteractive = try options.bool("interactive") ?? true
    }

    /// Whether the text is empty, `x11:XID` or `wayland:HANDLE`, as in portals: printable ASCII, of which real handles
    /// have far less.
    static func isParentWindow(_ text: String) -> Bool {
        text.isEmpty
            || (text.hasPrefix("x11:") || text.hasPrefix("wayland:")) && text.utf8.count <= 256
                && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }
}
