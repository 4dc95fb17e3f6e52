// permd-guard on the system bus (org.permd.Guard1): permd follows its name, registers with it, and calls it.
//
// Only root can own the name, so its owner is trusted.

import DBus
import Logging
import PermissionModel
import System

@LoopActor
final class GuardConnection {
    /// Called with the arguments of the signals.
    var onAsked: (@LoopActor ([Value]) -> Void)?
    var onWithdrawn: (@LoopActor ([Value]) -> Void)?
    /// Called when the guard, or the system bus, has gone.
    var onDeparture: (@LoopActor () -> Void)?
    private let bus: ReconnectingBus
    private let log: Logger
    private var isFollowing = false
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
        bus.follow { [weak self] event in
            switch event {
            case .opened(let connection): self?.follow(connection)
            case .lost: self?.ownerChanged(nil)
            case .failed: break
            }
        }
    }

    // MARK: The name

    private func follow(_ connection: Connection) {
        let name = BusNames.guardService
        connection.onSignal(
            sender: name, path: BusNames.guardObject, interface: BusNames.guardInterface, member: "Asked",
            addMatch: false, takesDescriptors: true
        ) { [weak self] in self?.onAsked?($0.body) }
        connection.onSignal(
            sender: name, path: BusNames.guardObject, interface: BusNames.guardInterface, member: "Withdrawn",
            addMatch: false
        ) { [weak self] in self?.onWithdrawn?($0.body) }
        connection.onOwnerChange(of: name) { [weak self] in self?.ownerChanged($0) }
        connection.askBus("GetNameOwner", .string(name)) { [weak self] owner in
            if let owner { self?.ownerChanged(owner.stringValue) }
        }
    }

    private func ownerChanged(_ new: String?) {
        guard new != owner else { return }
        let hadOwner = owner != nil
        owner = new
        retry?.cancel()
        backoff.reset()
        (told, cutsCameras, problem) = ([], false, nil)
        if hadOwner { onDeparture?() }
        if new != nil { register() }
    }

    // MARK: Registration

    private func register() {
        call("Register") { [weak self] result in
            guard let self else { return }
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

    // MARK: Calls

    /// Otherwise the guard asks again.
    func received(_ number: UInt64) { call("Received", [.uint64(number)]) }

    func answer(_ number: UInt64, _ answer: GuardAnswer) {
        // What changes after it in this turn may void it.
        told = []
        call("Answer", [.uint64(number), .string(answer.rawValue)])
    }

    /// Tells the guard that what was decided about the permission may no longer hold; nil means any. It is sent at once, so
    /// that whoever hears of a decision hears of it after the guard.
    func changed(_ permission: Permission?) {
        guard owner != nil, !told.contains(nil), told.insert(permission).inserted else { return }
        if told.count == 1 { Loop.shared.later { [weak self] in self?.turnEnded() } }
        call("Recheck", [.string(permission?.rawValue ?? "")])
    }

    private func turnEnded() {
        guard !told.isEmpty else { return }
        told = []
        readProperties()
    }

    /// `completion` does not run if the guard has left meanwhile.
    private func call(
        _ member: String, _ body: [Value] = [], interface: String = BusNames.guardInterface,
        _ completion: (@LoopActor (Result<Message, BusError>) -> Void)? = nil
    ) {
        guard let owner, let connection = bus.connection else { return }
        let message = Message.call(
            destination: owner, path: BusNames.guardObject, interface: interface, member: member, body,
            noReply: completion == nil)
        guard let completion else { return connection.send(message) }
        connection.call(message) { [weak self] in if self?.owner == owner { completion($0) } }
    }
}
