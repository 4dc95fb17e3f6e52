// The one table of errors: names, what they mean, and whether trying again helps.

/// An error a caller is told. Its D-Bus name is `org.permd.Error.` followed by the case's raw value.
public enum ErrorKind: String, Sendable, Hashable, CaseIterable {
    case invalidArguments = "InvalidArguments"
    case accessDenied = "AccessDenied"
    case notGranted = "NotGranted"
    case notSupported = "NotSupported"
    case notFound = "NotFound"
    case deviceUnavailable = "DeviceUnavailable"
    case noAgent = "NoAgent"
    case limitExceeded = "LimitExceeded"
    case storeUnavailable = "StoreUnavailable"
    case failed = "Failed"

    public static let prefix = "org.permd.Error."

    public var name: String { ErrorKind.prefix + rawValue }

    public init?(name: String) {
        guard name.hasPrefix(ErrorKind.prefix) else { return nil }
        self.init(rawValue: String(name.dropFirst(ErrorKind.prefix.count)))
    }

    /// Whether the same call may succeed later without anybody changing a decision.
    public var isRetryable: Bool {
        switch self {
        case .invalidArguments, .accessDenied, .notGranted, .notSupported, .notFound, .failed: false
        case .deviceUnavailable, .noAgent, .limitExceeded, .storeUnavailable: true
        }
    }

    /// What is said when the place that fails has nothing more exact to say.
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
        case .failed: "permd failed; the journal says more (journalctl --user -u permd)"
        }
    }
}

/// An error with the sentence a person reads.
public struct PermissionError: Error, Sendable, Hashable, CustomStringConvertible {
    public let kind: ErrorKind
    public let message: String

    public init(_ kind: ErrorKind, _ message: String? = nil) {
        self.kind = kind
        self.message = message ?? kind.text
    }

    public var description: String { message }
}
