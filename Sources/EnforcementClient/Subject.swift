// Whom an enforcement point asks about, and how permd is told who it is.

import DBus
package import PermissionModel
import ProcessIdentity

/// The `who` of org.permd.Enforcement1.
package enum Subject: Sendable, Hashable {
    case process(ProcessKey, AppID)
    /// A sandboxed app, but which of its processes is unknown.
    case app(AppID)

    package var app: AppID {
        switch self {
        case .process(_, let app), .app(let app): app
        }
    }

    /// A pidfd or an identity; nil if the process has exited.
    var who: Value? {
        switch self {
        case .app(let app): return .variant(.string(app.description))
        case .process(let key, _):
            let descriptor = Pidfd.open(key.pid)
            guard descriptor >= 0 else { return nil }
            let pidfd = UnixFD(owning: descriptor)
            // The ID was not used again before the pidfd was opened.
            guard ProcessReader().isThere(key) else { return nil }
            return .variant(.unixFD(pidfd))
        }
    }
}

/// A subject that uses something, or waits to.
package struct SubjectPermission: Hashable {
    package let subject: Subject
    package let permission: Permission

    package init(_ subject: Subject, _ permission: Permission) {
        self.subject = subject
        self.permission = permission
    }
}
