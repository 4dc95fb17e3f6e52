// How an error of the table leaves through the bus: its name, the message, and whether trying again helps.

import DBus
import PermissionModel

extension MethodCall {
    /// Answers with `org.permd.Error.KIND` and the arguments `sb` of the contract.
    func fail(_ error: PermissionError) {
        fail(name: error.kind.name, body: [.string(error.message), .bool(error.kind.isRetryable)])
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
