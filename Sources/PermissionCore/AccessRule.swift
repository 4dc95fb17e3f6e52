// What an enforcement point or the guard does about a permission of an app, and why an earlier grant does not count.

package import PermissionModel

extension Access {
    /// - Parameters:
    ///   - status: With a device assumed, as the point has it at hand.
    ///   - ask: Which apps are asked about.
    package init(_ status: Status, ask: AskScope, isSandboxed: Bool) {
        if ask == .none {
            self = .allowed
            return
        }
        switch status {
        case .granted: self = .allowed
        case .undetermined: self = ask == .all || isSandboxed ? .ask : .allowed
        case .denied, .restricted, .unavailable: self = .refused
        }
    }
}

extension GrantEnd {
    /// Nil if nothing is known of a grant, and if there is one that counts.
    ///
    /// - Parameters:
    ///   - isOff: Whether a person has switched the permission off for every app.
    ///   - isKept: Whether a decision or a rule grants it, although that may not count.
    ///   - last: Why the last grant ended that is not there any more.
    package init?(_ status: Status, isOff: Bool, isKept: Bool, last: GrantEnd?) {
        let end: GrantEnd? =
            switch status {
            case .granted: nil
            case .restricted where isKept: .administrator
            // What denies a permission that a rule grants is a decision.
            case .denied where isKept: isOff ? .switch : .person
            case .restricted, .denied, .unavailable, .undetermined: last
            }
        guard let end else { return nil }
        self = end
    }
}
