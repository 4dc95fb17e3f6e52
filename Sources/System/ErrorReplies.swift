// A `PermissionError` as the error of a call: its name, its message, and whether trying again can help.

package import DBus
package import PermissionModel

extension PermissionError {
    /// The arguments of the D-Bus error: the message (`s`), and whether it is retryable (`b`).
    package var arguments: [Value] { [.string(message), .bool(kind.isRetryable)] }
}

extension MethodCall {
    /// Replies with `org.permd.Error.KIND`.
    package func fail(_ error: PermissionError) { fail(name: error.kind.name, body: error.arguments) }
}
