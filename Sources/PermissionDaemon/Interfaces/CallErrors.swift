// How an error of the table leaves through the bus: its name, the message, and whether trying again helps.

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
    /// Answers with `org.permd.Error.KIND` and the arguments `sb` of the contract.
    func fail(_ error: PermissionError) {
        fail(name: error.kind.name, body: error.arguments)
    }

    func fail(_ kind: ErrorKind, _ message: String? = nil) {
        fail(PermissionError(kind, message))
    }

    /// Runs `body` and turns what it throws into the call's answer.
    @LoopActor
    func answering(_ body: () throws(PermissionError) -> Void) {
        do throws(PermissionError) { try body() } catch { fail(error) }
    }
}
