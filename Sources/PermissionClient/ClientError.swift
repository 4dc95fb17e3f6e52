// What can go wrong for a client, each with whether trying again helps.

import DBus
public import PermissionModel

/// An error of the daemon, or of the way to it. A refusal is none: it is a status.
public struct ClientError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        /// The daemon answered an error of its table.
        case daemon(ErrorKind)
        /// There is no session bus.
        case noBus
        /// Nobody owns `org.permd`, and the bus cannot start it.
        case noDaemon
        /// `org.permd` belongs to a program in a sandbox, or to one that cannot be identified: it is not permd. Settings
        /// programs and agents look, apps cannot.
        case untrustedOwner
        /// The action whose ``ActionContext`` was used is over.
        case actionOver
        /// An answer that is none of the contract's: the versions do not fit.
        case unexpected
    }

    public let kind: Kind
    /// A sentence for a person.
    public let message: String
    /// The daemon's flag; for errors on the way to it, whether they may pass by themselves.
    public let isRetryable: Bool

    public init(kind: Kind, message: String, isRetryable: Bool) {
        self.kind = kind
        self.message = message
        self.isRetryable = isRetryable
    }

    public var description: String { message }

    static let noDaemon = ClientError(
        kind: .noDaemon, message: "permd is not running and could not be started; start it, or install it",
        isRetryable: true)

    static let actionOver = ClientError(
        kind: .actionOver,
        message: "the action that this request belongs to is over; add a new action to the PermissionCenter",
        isRetryable: false)

    static func unexpected(_ what: String) -> ClientError {
        ClientError(
            kind: .unexpected, message: "permd answered \(what), which this program does not understand",
            isRetryable: false)
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
