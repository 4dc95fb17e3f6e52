// permd-guard on the system bus: permd follows its name, registers with it, calls it (org.permd.Guard1), and is called by
// it (org.permd.GuardClient1).
//
// Only root can own the name, so its owner is trusted.

import DBus
import Logging
import PermissionModel
import System

@LoopActor
final class GuardConnection {
    /// Milliseconds in which the guard registers this permd, if it is there.
    private static let settleTime: Int64 = 2000

    /// Called with the arguments of Ask, and for those that were asked before it was set. Returns false if they are not
    /// understood.
    var onAsked: (@LoopActor ([Value]) -> Bool)? { didSet { takeEarly() } }
    var onWithdrawn: (@LoopActor ([Value]) -> Void)?
    /// Called when the guard, or the system bus, has gone.
    var onDeparture: (@LoopActor () -> Void)?
    private let bus: ReconnectingBus
    private let log: Logger
    private var isFollowing = false
    private var server: ObjectServer?
    /// What was asked before anybody could answer.
    private var early: [MethodCall] = []
    /// What waits until the guard passes this permd, or is not there; nil afterwards.
    private var unsettled: [@LoopActor () -> Void]? = []
    /// The guard's unique name; nil if none is there.
    private var owner: String?
    private var backoff = Backoff()
    private var retry: LoopTimer?
    /// What the guard was told in this turn that may no longer hold; nil means any permission. It asks in a later turn, so
    /// it needs no repetition.
    private var told: Set<Permission?> = []
    /// Whether the guard ends the use of an open camera that is denied.
    private(set) var cutsCameras = false
    /// Why the guard does not ask this permd, and what to do.
    private(set) var problem: (text: String, advice: String)?

    init(bus: ReconnectingBus, log: Logger) {
        self.bus = bus
        self.log = log
    }

    func start() {
        guard !isFollowing else { return }
        isFollowing = true
        Loop.shared.after(milliseconds: GuardConnection.settleTime) { [weak self] in self?.settle() }
        bus.follow { [weak self] event in
            switch event {
            case .opened(let connection): self?.follow(connection)
            case .lost: self?.ownerChanged(nil)
            case .failed: self?.settle()
            }
        }
    }

    /// Runs `body` when the guard passes this permd, or is not there: what permd opens before, it would be asked about.
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
        let server = ObjectServer(connection: connection) { call, text in
            call.fail(PermissionError(.invalidArguments, text))
        }
        server.add(served, at: BusNames.guardClientObject)
        self.server = server
        let name = BusNames.guardService
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
        (told, cutsCameras, problem, early) = ([], false, nil, [])
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
                log.info("permd-guard asks this permd about programs that open devices")
                problem = nil
                readProperties()
            case .failure(let error): failed(error)
            }
        }
    }

    /// What the guard refuses for good, such as a permd that another than root could have changed, is not tried again.
    private func failed(_ error: BusError) {
        let isFinal = ErrorKind(name: error.name) == .accessDenied
        let text = "permd-guard does not ask this permd about programs that open devices"
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

    private var served: Interface {
        Interface(
            name: BusNames.guardClientInterface,
            methods: [
                Method(
                    name: "Ask",
                    inputs: [
                        "request": "t", "process": "h", "permission": "s", "device": "t", "program": "s", "waits": "b",
                    ], outputs: [:]
                ) { [weak self] in self?.ask($0) },
                Method(name: "Withdraw", inputs: ["request": "t"], outputs: [:]) { [weak self] in self?.withdraw($0) },
            ])
    }

    private func isGuard(_ call: MethodCall) -> Bool {
        if call.sender == owner { return true }
        call.fail(PermissionError(.accessDenied, "only permd-guard may call this"))
        return false
    }

    private func ask(_ call: MethodCall) {
        guard isGuard(call) else { return }
        guard let onAsked else { return early.append(call) }
        if onAsked(call.arguments) { return call.reply() }
        call.fail(PermissionError(.invalidArguments, "there is no such permission here"))
    }

    private func takeEarly() {
        let calls = early
        early = []
        for call in calls { ask(call) }
    }

    private func withdraw(_ call: MethodCall) {
        guard isGuard(call) else { return }
        early.removeAll { $0.arguments.first == call.arguments.first }
        onWithdrawn?(call.arguments)
        call.reply()
    }

    // MARK: Calls

    func answer(_ number: UInt64, _ answer: GuardAnswer) {
        // What changes after it in this turn may void it.
        told = []
        tell("Answer", [.uint64(number), .string(answer.rawValue)])
    }

    /// Tells the guard that what was decided about the permission may no longer hold; nil means any. It is sent at once, so
    /// that whoever hears of a decision hears of it after the guard.
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

    /// Calls the guard until it has answered. What an answer that comes late says may have changed meanwhile.
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
                self?.log.warning("permd-guard does not take \(member): \(error.message)")
            }
        }
    }

    /// `completion` does not run if the guard has left meanwhile.
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
