// A point of the system, such as permd-guard, on the system bus: permd follows its name, registers with it, calls it
// (org.permd.Guard1), and is called by it (org.permd.GuardClient1).
//
// Only root and the service that it stands before can own the name, so its owner is trusted with its permissions.

import DBus
import Logging
import PermissionModel
import System

@LoopActor
final class PointConnection {
    /// Milliseconds in which the point registers this permd, if it is there.
    private static let settleTime: Int64 = 2000

    /// Called with the arguments of Ask, and for those that were asked before it was set. Returns false if they are not
    /// understood.
    var onAsked: (@LoopActor ([Value]) -> Bool)? { didSet { takeEarly() } }
    var onWithdrawn: (@LoopActor ([Value]) -> Void)?
    /// Called with the arguments of BeginUse. Returns false if they are not understood.
    var onUse: (@LoopActor ([Value]) -> Bool)?
    var onUseEnded: (@LoopActor (UInt64) -> Void)?
    /// Called when the point, or the system bus, has gone.
    var onDeparture: (@LoopActor () -> Void)?
    let point: SystemPoint
    private let bus: ReconnectingBus
    private let log: Logger
    private let client: PointClient
    private var isFollowing = false
    /// What was asked before anybody could answer.
    private var early: [MethodCall] = []
    /// What waits until the point passes this permd, or is not there; nil afterwards.
    private var unsettled: [@LoopActor () -> Void]? = []
    /// The point's unique name; nil if it is not there.
    private(set) var owner: String?
    private var backoff = Backoff()
    private var retry: LoopTimer?
    /// What the point was told in this turn that may no longer hold; nil means any permission. It asks in a later turn, so
    /// it needs no repetition.
    private var told: Set<Permission?> = []
    /// Whether the point asks this permd.
    private(set) var isRegistered = false
    /// Whether the point ends the use of an open camera that is denied.
    private(set) var cutsCameras = false
    /// Why the point does not ask this permd, and what to do.
    private(set) var problem: (text: String, advice: String)?

    /// - Parameter client: Serves what all points of this bus ask; nil for one of its own.
    init(_ point: SystemPoint = .permdGuard, bus: ReconnectingBus, log: Logger, client: PointClient? = nil) {
        (self.point, self.bus, self.log) = (point, bus, log)
        self.client = client ?? PointClient(SystemBusObjects(bus))
        self.client.add(self)
    }

    func start() {
        guard !isFollowing else { return }
        isFollowing = true
        Loop.shared.after(milliseconds: PointConnection.settleTime) { [weak self] in self?.settle() }
        bus.follow { [weak self] event in
            switch event {
            case .opened(let connection): self?.follow(connection)
            case .lost: self?.ownerChanged(nil)
            case .failed: self?.settle()
            }
        }
    }

    /// Runs `body` when the point passes this permd, or is not there: what permd opens before, it would be asked about.
    func whenSettled(_ body: @escaping @LoopActor () -> Void) {
        if unsettled == nil { body() } else { unsettled?.append(body) }
    }

    private func settle() {
        let waiting = unsettled ?? []
        unsettled = nil
        for body in waiting { body() }
    }

    // MARK: The name

    private func follow(_ connection: Connection) {
        let name = point.service
        connection.onOwnerChange(of: name) { [weak self] in self?.ownerChanged($0) }
        connection.askBus("GetNameOwner", .string(name)) { [weak self] owner in
            if let owner { self?.ownerChanged(owner.stringValue) } else { self?.settle() }
        }
    }

    private func ownerChanged(_ new: String?) {
        guard new != owner else { return }
        let hadOwner = owner != nil
        owner = new
        retry?.cancel()
        backoff.reset()
        (told, cutsCameras, isRegistered, problem, early) = ([], false, false, nil, [])
        if hadOwner { onDeparture?() }
        if new != nil { register() }
    }

    // MARK: Registration

    private func register() {
        call("Register") { [weak self] result in
            guard let self else { return }
            settle()
            switch result {
            case .success:
                log.info("\(point.program) asks this permd about programs that \(point.use)")
                (problem, isRegistered) = (nil, true)
                readProperties()
            case .failure(let error): failed(error)
            }
        }
    }

    /// What the point refuses for good, such as a permd that another than root could have changed, is not tried again.
    private func failed(_ error: BusError) {
        let isFinal = ErrorKind(name: error.name) == .accessDenied
        let text = "\(point.program) does not ask this permd about programs that \(point.use)"
        if problem == nil { log.warning("\(text): \(error.message)") }
        problem = (
            "\(text): \(SafeText.line(error.message))",
            isFinal
                ? "run the permd that is installed for all users" : "end other permds of this user; permd tries again"
        )
        guard !isFinal else { return }
        retry = Loop.shared.after(milliseconds: backoff.next()) { [weak self] in self?.register() }
    }

    private func readProperties() {
        let cuts: [Value] = [.string(BusNames.guardInterface), .string("Cuts")]
        call("Get", cuts, interface: StandardInterfaces.properties) { [weak self] result in
            guard case .variant(let value)? = (try? result.get())?.body.first else { return }
            self?.cutsCameras = value.boolValue ?? false
        }
    }

    // MARK: Questions

    func ask(_ call: MethodCall) {
        guard let onAsked else { return early.append(call) }
        if onAsked(call.arguments) { return call.reply() }
        call.fail(PermissionError(.invalidArguments, "there is no such permission here"))
    }

    private func takeEarly() {
        let calls = early
        early = []
        for call in calls { ask(call) }
    }

    func withdraw(_ call: MethodCall) {
        early.removeAll { $0.arguments.first == call.arguments.first }
        onWithdrawn?(call.arguments)
        call.reply()
    }

    func beginUse(_ call: MethodCall) {
        if onUse?(call.arguments) ?? true { return call.reply() }
        call.fail(PermissionError(.invalidArguments, "there is no such permission here"))
    }

    func endUse(_ call: MethodCall) {
        if let number = call.arguments.first?.uint64Value { onUseEnded?(number) }
        call.reply()
    }

    // MARK: Calls

    func answer(_ number: UInt64, _ answer: GuardAnswer) {
        // What changes after it in this turn may void it.
        told = []
        tell("Answer", [.uint64(number), .string(answer.rawValue)])
    }

    /// Tells the point that what was decided about the permission may no longer hold; nil means any. It is sent at once, so
    /// that whoever hears of a decision hears of it after the point.
    func changed(_ permission: Permission?) {
        guard owner != nil, !told.contains(nil), told.insert(permission).inserted else { return }
        if told.count == 1 { Loop.shared.later { [weak self] in self?.turnEnded() } }
        tell("Recheck", [.string(permission?.rawValue ?? "")])
    }

    private func turnEnded() {
        guard !told.isEmpty else { return }
        told = []
        readProperties()
    }

    /// Calls the point until it has answered. What an answer that comes late says may have changed meanwhile.
    private func tell(_ member: String, _ body: [Value], after pauses: Backoff = Backoff(), isLate: Bool = false) {
        call(member, body) { [weak self] result in
            switch result {
            case .success: if isLate, member == "Answer" { self?.changed(nil) }
            case .failure(let error) where error.isTransient:
                var next = pauses
                Loop.shared.after(milliseconds: next.next()) { [weak self, next, owner = self?.owner] in
                    if let self, self.owner == owner { tell(member, body, after: next, isLate: true) }
                }
            case .failure(let error):
                self?.log.warning("\(self?.point.program ?? "") does not take \(member): \(error.message)")
            }
        }
    }

    /// `completion` does not run if the point has left meanwhile.
    private func call(
        _ member: String, _ body: [Value] = [], interface: String = BusNames.guardInterface,
        _ completion: @escaping @LoopActor (Result<Message, BusError>) -> Void
    ) {
        guard let owner, let connection = bus.connection else { return }
        let message = Message.call(
            destination: owner, path: BusNames.guardObject, interface: interface, member: member, body)
        connection.call(message) { [weak self] in if self?.owner == owner { completion($0) } }
    }
}
