// Sends a `PermissionError` as a D-Bus error: its name, its message, and whether trying again can help.

import DBus
import PermissionModel

extension PermissionError {
    /// The arguments of the D-Bus error.
    fileprivate var arguments: [Value] { [.string(message), .bool(kind.isRetryable)] }
}

extension Connection {
    func fail(_ call: Message, _ error: PermissionError) { reply(to: call, error: error.kind.name, error.arguments) }
}

extension MethodCall {
    /// Replies with `org.permd.Error.KIND`, whose arguments are the message (`s`) and whether it is retryable (`b`).
    func fail(_ error: PermissionError) {
        fail(name: error.kind.name, body: error.arguments)
    }

    func fail(_ kind: ErrorKind, _ message: String? = nil) {
        fail(PermissionError(kind, message))
    }

    /// Runs `body`; if it throws, replies with the error.
    @LoopActor
    func answering(_ body: () throws(PermissionError) -> Void) {
        do throws(PermissionError) { try body() } catch { fail(error) }
    }
}
