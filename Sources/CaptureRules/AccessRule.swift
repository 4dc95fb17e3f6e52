// Who may record: what permd says, or for those that it cannot be asked about, from who they are.

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

extension Access {
    /// What a client may do now.
    ///
    /// - Parameters:
    ///   - said: What permd said last; nil if it has said nothing yet, or cannot identify the process.
    ///   - ask: Matters for those that permd is not asked about.
    ///   - wasAllowed: Whether it was allowed before, and permd has not been heard since.
    package init(_ owner: Owner, _ said: Access?, ask: AskScope, wasAllowed: Bool = false) {
        self =
            switch owner {
            case .session: .allowed
            case .process, .app: said ?? (wasAllowed || ask == .none ? .allowed : .refused)
            case .unsandboxed: ask == .all ? .refused : .allowed
            case .unknown: ask == .none ? .allowed : .refused
            }
    }
}
