// What a point of the system asks about a process: the call Ask, and the request in the queue that waits for a person.

import DBus
import PermissionCore
import PermissionModel

/// The arguments of Ask.
struct UseAttempt {
    let number: UInt64
    /// Refers to the process.
    let pidfd: UnixFD
    let permission: Permission
    /// The number of the device's node (dev_t); 0 if it is not known, or if there is none.
    let device: UInt64
    /// The executable, if permd may not look at the process; otherwise empty.
    let program: String
    /// Whether a thread or a call waits for the answer, so that the person may be asked.
    let waits: Bool

    /// Returns nil for a body of another form.
    init?(_ body: [Value]) {
        guard body.count == 6, let number = body[0].uint64Value, let pidfd = body[1].unixFDValue,
            let permission = body[2].stringValue.flatMap(Permission.init(rawValue:)), let device = body[3].uint64Value,
            let program = body[4].stringValue, let waits = body[5].boolValue
        else { return nil }
        self.number = number
        self.pidfd = pidfd
        self.permission = permission
        self.device = device
        self.program = program
        self.waits = waits
    }
}

@LoopActor
final class PointRequest {
    let attempt: UseAttempt
    /// Nil until the process is identified.
    var caller: Caller?
    /// Its number in the queue while it is there.
    var id: RequestID?
    /// Called with the answer, if there is one.
    private let onAnswer: @LoopActor (GuardAnswer) -> Void
    private var exit: WatchToken?

    init(_ attempt: UseAttempt, onAnswer: @escaping @LoopActor (GuardAnswer) -> Void) {
        self.attempt = attempt
        self.onAnswer = onAnswer
    }

    isolated deinit { exit?.cancel() }

    /// Calls `body` when the process exits.
    func onExit(_ body: @escaping @LoopActor () -> Void) {
        exit = Loop.shared.watch(attempt.pidfd, .readable) { [weak self] _ in
            self?.exit?.cancel()
            body()
        }
    }
}

extension PointRequest: @LoopActor Requester {
    func accept() {}
    func moved(from old: QueuePlace, to new: QueuePlace) {}

    func refuse(_ error: PermissionError) {
        id = nil
        onAnswer(.undecided)
    }

    func respond(_ reply: Reply) {
        id = nil
        // The point asks the next permd.
        guard !reply.isStopping else { return }
        switch reply.statuses[attempt.permission] {
        case .granted: onAnswer(.granted)
        case .denied, .restricted: onAnswer(.denied)
        case .undetermined, .unavailable, nil: onAnswer(.undecided)
        }
    }

    /// It was withdrawn; or the session bus was lost, and it is asked again when that is back.
    func forget() { id = nil }
}
