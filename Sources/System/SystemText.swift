// Texts of errors, and where programs write them.

import Glibc

/// The system's text for an errno value (strerror(3)).
package func errorText(_ code: Int32 = errno) -> String { String(cString: strerror(code)) }

/// Writes to stderr in one call. A failure is ignored because it cannot be reported.
package func writeError(_ text: String) {
    var text = text
    text.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}
