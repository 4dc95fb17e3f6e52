// The error of everything here.

import Glibc

/// Why a test could not go on: a program did not start or left, or something that was waited for did not happen.
public struct TestKitError: Error, Sendable, CustomStringConvertible {
    /// What failed and why, for the developer.
    public let description: String

    package init(_ description: String) { self.description = description }

    package static func system(_ what: String, _ code: Int32) -> TestKitError {
        TestKitError("\(what): \(String(cString: strerror(code)))")
    }
}
