// The queue of requests as the interfaces use it: they read its state and pass events to it.

import DBus
import PermissionCore

@LoopActor
protocol RequestSink: AnyObject {
    var queue: Queue { get }
    /// Returns the ID of a new request.
    func newID() -> RequestID
    /// Handles an event. Its effects have been carried out on return, unless the event was caused by another's effect.
    func feed(_ event: QueueEvent)
}
