// What a point of the system asks about processes: permd answers what is decided, and makes the rest requests in the queue.

import DBus
import Journal
import Logging
import PermissionCore
import PermissionModel
import ProcessIdentity
import System

@LoopActor
final class PointLink {
    let connection: PointConnection
    private let maximumAsked: Int
    private let processes: ProcessIdentifier
    private let facts: CurrentFacts
    private let devices: DeviceCatalog
    private let now: @Sendable () -> EpochSeconds
    private let unidentified: BoundedLog
    /// Called when a process is let through because of what is granted to its app.
    private let onUse: @LoopActor (AppID, Permission) -> Void
    /// Called when a question needs no answer any more.
    var onSettled: (@LoopActor () -> Void)?
    /// Nil before permd serves its session bus, and while that is lost.
    private weak var requests: (any RequestSink)?
    /// What is not answered, by the point's number.
    private var asked: [UInt64: PointRequest] = [:]
    private(set) lazy var uses = PointUses(connection.point, processes: processes, facts: facts)

    /// - Parameter maximumAsked: The most questions without an answer, each with a descriptor. More are refused: the
    ///   queue takes no more, either.
    init(
        _ connection: PointConnection, processes: ProcessIdentifier, facts: CurrentFacts, devices: DeviceCatalog,
        now: @escaping @Sendable () -> EpochSeconds, log: Logger, maximumAsked: Int = 1024,
        onUse: @escaping @LoopActor (AppID, Permission) -> Void = { _, _ in }
    ) {
        self.onUse = onUse
        self.maximumAsked = maximumAsked
        self.connection = connection
        self.processes = processes
        self.facts = facts
        self.devices = devices
        self.now = now
        unidentified = BoundedLog(log, "processes that \(connection.point.use) were not identified")
        connection.onWithdrawn = { [weak self] in self?.withdrawn($0) }
        connection.onUse = { [weak self] in self?.uses.began($0) ?? true }
        connection.onUseEnded = { [weak self] in self?.uses.ended($0) }
        connection.onDeparture = { [weak self] in self?.departed() }
    }

    // MARK: The session bus

    /// permd serves a session bus, with this queue. What was asked while there was none is decided now.
    func serve(_ requests: any RequestSink) {
        self.requests = requests
        connection.changed(nil)
        for request in asked.values.sorted(by: { $0.attempt.number < $1.attempt.number }) { decide(request) }
        if connection.onAsked == nil { connection.onAsked = { [weak self] in self?.asked($0) ?? false } }
        connection.start()
    }

    /// The queue takes no more requests. What is undecided waits for ``serve(_:)``, or for the next permd.
    func pause() { requests = nil }

    // MARK: Questions

    /// Returns false if a newer point asks what is not known here, or one asks about what it does not stand before.
    private func asked(_ body: [Value]) -> Bool {
        guard let attempt = UseAttempt(body), connection.point.permissions.contains(attempt.permission) else {
            return false
        }
        // It may be sent again before the point knows.
        if asked[attempt.number] == nil { add(attempt) }
        return true
    }

    private func add(_ attempt: UseAttempt) {
        let number = attempt.number
        let request = PointRequest(attempt) { [weak self] in self?.answer(number, $0) }
        let isFull = asked.count >= maximumAsked
        asked[number] = request
        guard !isFull, let pid = Pidfd.pid(of: attempt.pidfd.raw) else { return answer(number, .undecided) }
        request.onExit { [weak self] in self?.exited(number) }
        processes.identify(pid, under: attempt.pidfd, program: attempt.program) { [weak self] result in
            guard let self, asked[number] === request else { return }
            switch result {
            case .success(let found):
                // No unique name: those of two buses can be the same.
                request.caller = Caller(
                    connection: connection.point.service, app: found.app, process: found.instance,
                    mayBeSandboxed: found.mayBeSandboxed)
                decide(request)
            case .failure(let problem):
                unidentified.notice(
                    "The process \(pid), one of those that \(connection.point.use), was not identified: \(problem.reason)"
                )
                answer(number, .undecided)
            }
        }
    }

    /// Whether a thread of the process waits for an answer.
    func isAsking(about process: ProcessKey, _ permission: Permission) -> Bool {
        asked.values.contains {
            $0.caller?.process == process && $0.attempt.permission == permission && $0.attempt.waits
        }
    }

    private func withdrawn(_ body: [Value]) {
        guard body.count == 1, let number = body[0].uint64Value, let request = asked.removeValue(forKey: number)
        else { return }
        close(request)
        onSettled?()
    }

    private func exited(_ number: UInt64) {
        guard let request = asked[number] else { return }
        answer(number, .undecided)
        close(request)
    }

    private func close(_ request: PointRequest) {
        if let id = request.id { requests?.feed(.closed(id)) }
    }

    /// Answers what is decided, and asks the person about the rest.
    private func decide(_ request: PointRequest) {
        guard let caller = request.caller, request.id == nil else { return }
        let attempt = request.attempt
        switch facts.access(to: attempt.permission, for: caller).access {
        case .allowed:
            onUse(caller.app, attempt.permission)
            return answer(attempt.number, .granted)
        case .refused: return answer(attempt.number, .denied)
        case .ask: break
        }
        guard attempt.waits else { return answer(attempt.number, .undecided) }
        guard let requests else { return }
        let queued = requests.systemRequest(
            attempt.permission, by: caller,
            device: devices.device(attempt.permission, number: attempt.device)?.name ?? "", at: now(), request)
        request.id = queued.id
        requests.feed(.requested(queued))
    }

    private func answer(_ number: UInt64, _ answer: GuardAnswer) {
        guard asked.removeValue(forKey: number) != nil else { return }
        connection.answer(number, answer)
        onSettled?()
    }

    /// Its end is not an action of the apps that it asked for.
    private func departed() {
        asked = [:]
        uses.endAll()
        requests?.feed(.callerLeft(connection.point.service))
        onSettled?()
    }
}
