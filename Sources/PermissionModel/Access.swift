// What an enforcement point is told about a permission of an app, and obeys without a rule of its own.

/// What an enforcement point does: the value `access` of org.permd.Enforcement1.GetAccessFor.
package enum Access: String, Sendable, Hashable, CaseIterable {
    case allowed
    /// It gets nothing, and nobody is asked.
    case refused
    /// It gets nothing until somebody has decided: request it.
    case ask
}

/// Why a grant does not count any more: the value `ended` of org.permd.Enforcement1.GetAccessFor.
package enum GrantEnd: String, Sendable, Hashable, CaseIterable {
    /// A person took it back, or denied the permission.
    case person
    /// A rule of the administrator forbids the permission, or one that granted it has gone.
    case administrator
    /// The time has come until which it held.
    case time
    /// The user's last login session has ended.
    case session
    /// The process, or the instance of its sandbox, has ended for which it held.
    case exit
    /// Nobody has used it for so long that it was taken back.
    case unused
    /// A person has switched the permission off for every app.
    case `switch`

    /// Why a grant ended by itself; nil for one that does not.
    package init?(of duration: Duration) {
        switch duration {
        case .once: self = .exit
        case .session: self = .session
        case .until: self = .time
        case .always: return nil
        }
    }
}

/// What permd says about a permission of an app: a row of org.permd.Enforcement1.GetAccessFor.
package struct SubjectAccess: Sendable, Hashable {
    package let access: Access
    /// Why it is not allowed any more; nil if it is, and if nothing is known of a grant.
    package let ended: GrantEnd?

    package init(_ access: Access, ended: GrantEnd? = nil) { (self.access, self.ended) = (access, ended) }
}
