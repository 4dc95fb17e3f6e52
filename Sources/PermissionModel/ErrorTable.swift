// The table of errors: their names, their texts, and whether trying again may help.

/// An error that permd returns to a caller. Its D-Bus name is `org.permd.Error.` followed by the raw value.
///
/// It has two arguments, a message (s) and whether trying again may help (b).
public enum ErrorKind: String, Sendable, Hashable, CaseIterable {
    /// An argument or an option is invalid.
    case invalidArguments = "InvalidArguments"
    /// The caller may not use this method, or could not be identified.
    case accessDenied = "AccessDenied"
    /// The app does not have the permission.
    case notGranted = "NotGranted"
    /// The permission has no device that can be opened.
    case notSupported = "NotSupported"
    /// There is no such app, device, request or agent.
    case notFound = "NotFound"
    /// There is no usable device now.
    case deviceUnavailable = "DeviceUnavailable"
    /// There was no agent to show the prompt, and none registered in time.
    case noAgent = "NoAgent"
    /// Too many requests wait, the app has withdrawn too many, or a list is too long.
    case limitExceeded = "LimitExceeded"
    /// The store cannot be read or written.
    case storeUnavailable = "StoreUnavailable"
    /// An error within permd; its journal has details.
    case failed = "Failed"

    static let prefix = "org.permd.Error."

    /// The D-Bus name.
    public var name: String { ErrorKind.prefix + rawValue }

    /// The error with this D-Bus name; nil if it is not one of permd's.
    public init?(name: String) {
        guard name.hasPrefix(ErrorKind.prefix) else { return nil }
        self.init(rawValue: String(name.dropFirst(ErrorKind.prefix.count)))
    }

    /// Whether the same call may succeed later although no decision has changed.
    public var isRetryable: Bool {
        switch self {
        case .invalidArguments, .accessDenied, .notGranted, .notSupported, .notFound, .failed: false
        case .deviceUnavailable, .noAgent, .limitExceeded, .storeUnavailable: true
        }
    }

    /// The message that is used if there is no more specific one.
    public var text: String {
        switch self {
        case .invalidArguments: "the call itself is wrong"
        case .accessDenied: "this caller may not do this"
        case .notGranted: "the permission is not granted"
        case .notSupported: "this permission has no such thing"
        case .notFound: "no such app, device, request or agent"
        case .deviceUnavailable: "no usable device is there now"
        case .noAgent: "nobody is there to show a prompt"
        case .limitExceeded: "too many at once"
        case .storeUnavailable: "the store cannot be read or written"
        case .failed: "permd failed; its log says more"
        }
    }
}

/// An error of the table with its message, as the daemon throws it.
public struct PermissionError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The error.
    public let kind: ErrorKind
    /// The message for the user.
    public let message: String

    /// Creates an error; without a message, with ``ErrorKind/text``.
    public init(_ kind: ErrorKind, _ message: String? = nil) {
        self.kind = kind
        self.message = message ?? kind.text
    }

    /// The message.
    public var description: String { message }
}
