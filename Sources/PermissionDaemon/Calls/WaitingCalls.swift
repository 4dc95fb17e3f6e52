// Bounds the memory of calls that wait while a process is identified.

import DBus
import PermissionModel

@LoopActor
final class WaitingCalls {
    /// The most bytes of all waiting calls: the bus's answer that ends the wait comes after everything else that the
    /// bus has queued for permd.
    static let maximumBytes = 16 << 20
    /// When there are so many, a connection may still have one waiting call of at most this many bytes, so that the
    /// calls of others cannot shut a new program out.
    static let smallBytes = 64 << 10
    /// Bytes charged per call in addition to its content, for its header and the waiting closures.
    static let callBytes = 1024

    private let maximumOfConnection: Int
    private var bytes = 0
    private var counts: [String: Int] = [:]

    /// - Parameter maximum: The most waiting calls of one connection.
    init(ofConnection maximum: Int = .max) { maximumOfConnection = maximum }

    /// Counts a call as waiting until the returned function is called.
    func add(_ message: Message) throws(PermissionError) -> @LoopActor () -> Void {
        let sender = message.sender ?? ""
        let size = message.contentSize + WaitingCalls.callBytes
        let count = counts[sender] ?? 0
        guard count < maximumOfConnection else {
            throw PermissionError(.limitExceeded, "\(count) calls of this connection wait until it is identified")
        }
        guard bytes + size <= WaitingCalls.maximumBytes || count == 0 && size <= WaitingCalls.smallBytes else {
            throw PermissionError(
                .limitExceeded, "too many calls wait until processes are identified; try again")
        }
        bytes += size
        counts[sender] = count + 1
        return { [weak self] in self?.end(sender, size) }
    }

    private func end(_ sender: String, _ size: Int) {
        bytes -= size
        let count = counts[sender] ?? 0
        counts[sender] = count > 1 ? count - 1 : nil
    }
}
