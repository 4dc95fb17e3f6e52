// Who may record, from who it is and what permd says about it.

package import PermissionModel

/// Who is behind a client of PipeWire.
package enum Owner: Sendable, Hashable {
    /// A media service, such as the session manager.
    case session
    /// A process.
    case process(ProcessKey, AppID)
    /// A sandboxed app, but which of its processes is unknown.
    case app(AppID)
    /// Some program outside any sandbox.
    case unsandboxed
    /// A program that cannot be identified, and may be sandboxed.
    case unknown

    package var isSandboxed: Bool {
        switch self {
        case .process(_, let app), .app(let app): app.isSandboxed
        case .session, .unsandboxed: false
        case .unknown: true
        }
    }
}

/// What a client may do now.
package enum RecordingRight: Sendable, Hashable {
    case allowed
    /// It gets nothing, and nobody is asked.
    case refused
    /// It gets nothing until somebody has decided.
    case undecided

    /// - Parameters:
    ///   - status: What permd said last; nil if it has said nothing yet.
    ///   - wasAllowed: Whether it was allowed before, and permd has not been heard since.
    package init(_ owner: Owner, _ status: Status?, ask: AskScope, wasAllowed: Bool = false) {
        if ask == .none || owner == .session {
            self = .allowed
            return
        }
        switch owner {
        case .unknown: self = .refused
        case .unsandboxed: self = ask == .all ? .refused : .allowed
        case .session, .process, .app:
            let isAllowed = status == nil && wasAllowed
            self = isAllowed ? .allowed : RecordingRight(status, isAsked: ask == .all || owner.isSandboxed)
        }
    }

    private init(_ status: Status?, isAsked: Bool) {
        switch status {
        case .granted: self = .allowed
        case .undetermined: self = isAsked ? .undecided : .allowed
        // permd looks for no device here, so it does not say `unavailable`; whatever it means, it is no grant.
        case .denied, .restricted, .unavailable, nil: self = .refused
        }
    }
}
