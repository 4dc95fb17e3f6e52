// Bounds the memory of calls that wait while a process is identified.

import DBus
import PermissionModel

@LoopActor
final class WaitingCalls {
    /// The most bytes of all waiting calls. Decoded, they take up to three times as much memory, and the bus's answer
    /// that ends the wait comes after everything else that the bus has queued for permd.
    static let maximumBytes = 16 << 20
    /// Bytes charged per call in addition to its content, for its header and the waiting closures.
    static let callBytes = 1024

    private var bytes = 0

    /// Counts a call as waiting until the returned function is called.
    func add(_ message: Message) throws(PermissionError) -> @LoopActor () -> Void {
        let size = message.contentSize + WaitingCalls.callBytes
        guard bytes + size <= WaitingCalls.maximumBytes else {
            throw PermissionError(
                .limitExceeded, "too many calls wait until processes are identified; try again")
        }
        bytes += size
        return { [weak self] in self?.bytes -= size }
    }
}
