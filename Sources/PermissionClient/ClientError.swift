// The errors of the library, each with whether trying again may help.

import DBus
public import PermissionModel

/// An error that the daemon returned, or a failure to reach it. A refusal is a status, not an error.
public struct ClientError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of an error.
    public enum Kind: Sendable, Hashable {
        /// The daemon returned an error, `org.permd.Error.*`.
        case daemon(ErrorKind)
        /// The bus cannot be reached, or the connection to it was lost.
        case noBus
        /// The daemon is not running, and the bus cannot start it.
        case noDaemon
        /// The owner of the name `org.permd` is sandboxed or cannot be identified, so it is not permd. Settings
        /// programs and agents check this; apps cannot.
        case untrustedOwner
        /// An ``ActionContext`` was used after its action had ended.
        case actionOver
        /// An answer that does not match the interface, or an unknown D-Bus error: the versions may not match.
        case unexpected
    }

    /// The kind.
    public let kind: Kind
    /// A message for the user.
    public let message: String
    /// Whether trying again later may help.
    public let isRetryable: Bool

    /// Creates an error.
    public init(kind: Kind, message: String, isRetryable: Bool) {
        self.kind = kind
        self.message = message
        self.isRetryable = isRetryable
    }

    /// The message.
    public var description: String { message }

    static let noDaemon = ClientError(
        kind: .noDaemon, message: "permd is not running and could not be started; start it, or install it",
        isRetryable: true)

    static let actionOver = ClientError(
        kind: .actionOver,
        message: "the action of this context has ended; add a new action to the PermissionCenter",
        isRetryable: false)

    package static func unexpected(_ what: String) -> ClientError {
        ClientError(kind: .unexpected, message: "unexpected answer from permd: \(what)", isRetryable: false)
    }

    init(_ error: BusError) {
        if let kind = ErrorKind(name: error.name) {
            let flag = error.body.count > 1 ? error.body[1].boolValue : nil
            self.init(kind: .daemon(kind), message: error.message, isRetryable: flag ?? false)
            return
        }
        switch error.name {
        case BusError.Name.noServer, BusError.Name.disconnected, BusError.Name.fileNotFound,
            BusError.Name.badAddress, BusError.Name.authFailed:
            self.init(kind: .noBus, message: "there is no session bus: \(error.message)", isRetryable: true)
        case BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner, BusError.Name.noReply:
            self = .noDaemon
        case let name where name.hasPrefix(BusError.Name.spawn):
            self.init(
                kind: .noDaemon, message: "permd could not be started: \(error.message)", isRetryable: true)
        default:
            self.init(kind: .unexpected, message: "\(error.name): \(error.message)", isRetryable: false)
        }
    }
}
