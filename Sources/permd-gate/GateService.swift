// Joins the service's connections, its callers and the users' permds: calls go to `GuardTable` as attempts of threads go
// there from permd-guard, and what follows is done here.

import DBus
import GateRules
import Glibc
import GuardRules
import Journal
import Logging
import PermissionModel
import PolicyFiles
import ProcessIdentity
import System
import SystemPoint

@LoopActor
final class GateService {
    /// In milliseconds.
    struct Times {
        /// For which a call waits for a person. Callers give up after 25 s, and would see no reason.
        var patience: Int64 = 20_000
        /// For which a call waits for what is decided already. permd answers within few.
        var look: Int64 = 1000
        /// In which questions about a caller are counted.
        var questions: Int64 = 10_000
    }

    /// The calls of a caller that wait until it is known, and those of all callers. A client has some on its way.
    private static let mostEarly = 32
    private static let mostEarlyOfAll = 512
    /// Bytes of a call that waits. The longest that ask describe a service, in some thousand.
    private static let mostWaitingBytes = 16 << 10
    /// The questions about a caller in a period of `Times.questions`. A program that calls again and again, although
    /// nothing is decided, keeps its user's permd from its work otherwise.
    private static let mostQuestions = 16

    /// Passes the process of a connection with that name.
    typealias Finder =
        @LoopActor (
            String, Connection, ConnectionTimes?,
            @escaping @LoopActor (Result<ConnectedProcess, ConnectedProcess.Unknown>) -> Void
        ) -> Void

    let service: GatedService
    private let busAddress: BusAddress
    /// For questions to the bus, and to permds.
    private let bus: ReconnectingBus
    private let log: Logger
    private let refusals: BoundedLog
    private let reader: ProcessReader
    private let executable: @LoopActor (Int32) -> [UInt8]?
    private let find: Finder
    private let limits: Times
    let permds: PermdRegistry
    private lazy var table = TableRunner(
        permds,
        subject: { [weak self] program, _ in
            self?.numbered[program.start]?.identity.map { ($0.pidfd, "") }
        }, perform: { [weak self] in self?.perform($0) })
    private var configuration: GuardConfiguration
    private let accounts: ClosedRange<UInt32>
    private(set) var callers: [String: Caller] = [:]
    private var numbered: [UInt64: Caller] = [:]
    /// The callers whose calls wait, by the number of the call.
    private var waiters: [Int32: Caller] = [:]
    private var links: [ObjectIdentifier: ServiceLink] = [:]
    private var earlyCalls = 0
    private var times: ConnectionTimes?
    /// The users who have, or have had, a permd.
    private var users: Set<UInt32> = []
    private var lastCaller: UInt64 = 0
    private var lastCall: Int32 = 0
    var lastUse: UInt64 = 0

    /// - Parameters:
    ///   - accounts: The users who are asked; others pass.
    ///   - executable: The path of a process's executable, if that is the system's.
    init(
        _ service: GatedService, bus: BusAddress, accounts: ClosedRange<UInt32>, configuration: GuardConfiguration,
        log: Logger, limits: Times = Times(), executable: (@LoopActor (Int32) -> [UInt8]?)? = nil,
        find: @escaping Finder = { ConnectedProcess.find($0, on: $1, times: $2, $3) }
    ) {
        let reader = ProcessReader()
        let executable = executable ?? { reader.systemExecutable($0) }
        (self.service, self.accounts, self.configuration, self.log) = (service, accounts, configuration, log)
        (self.reader, self.executable, self.find, self.limits) = (reader, executable, find, limits)
        busAddress = bus
        self.bus = ReconnectingBus(bus)
        permds = PermdRegistry(service.gate, on: self.bus, log: log, executable: executable)
        refusals = BoundedLog(log, "calls were refused")
        table.waitForPermd = configuration.waitForPermd
    }

    /// Serves the name of this gate.
    ///
    /// - Parameter onFailure: Called if the bus is lost, or refuses the name. The service has lost its bus too, so that
    ///   systemd starts both again.
    func start(onFailure: @escaping @LoopActor () -> Void) {
        permds.onUser = { [weak self] in self?.knows($0) }
        permds.onRegistered = { [weak self] in self?.reportUses(of: $0) }
        permds.start(onRefusal: onFailure)
        bus.follow { [weak self] event in
            switch event {
            case .opened(let connection):
                connection.onSignal(
                    sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged"
                ) { [weak self] in self?.ownerChanged($0) }
                let times = ConnectionTimes(connection: connection)
                times.start()
                self?.times = times
            case .lost: onFailure()
            case .failed(let error): self?.log.warning("the system bus cannot be reached: \(error.message)")
            }
        }
    }

    // MARK: The service

    /// The service connects: it gets a connection to the bus of its own.
    func accept(_ peer: RelayPeer) {
        let toBus: RelayPeer
        do throws(BusError) { toBus = try RelayPeer(to: busAddress) } catch {
            log.error("\(service.name) cannot be connected to its bus: \(error.message)")
            return peer.close()
        }
        let link = ServiceLink(service: peer, bus: toBus)
        links[ObjectIdentifier(link)] = link
        link.onCall = { [weak self, unowned link] in self?.called($0, link) }
        link.onSent = { [weak self, unowned link] in self?.sent($0, link) }
        link.onEnd = { [weak self, unowned link] in self?.ended(link) }
        log.info("\(service.name) has connected")
    }

    private func ended(_ link: ServiceLink) {
        log.info("a connection of \(service.name) has ended")
        links[ObjectIdentifier(link)] = nil
        for caller in callers.values {
            caller.partialViews[ObjectIdentifier(link)] = nil
            if caller.used.removeValue(forKey: ObjectIdentifier(link)) != nil { endUses(of: caller) }
            for (number, waiting) in caller.waiting where waiting.link === link {
                _ = forget(number)
                table.feed(.lost(thread: number))
            }
        }
    }

    // MARK: Callers

    private func called(_ call: RelayMessage, _ link: ServiceLink) {
        guard let name = call.header.sender else { return }
        let caller = callers[name] ?? add(name)
        guard case .unknown = caller.state else { return serve(call, caller, link) }
        guard caller.early.count < GateService.mostEarly, earlyCalls < GateService.mostEarlyOfAll, mayWait(call) else {
            return link.refuse(call, BusError.Name.limitsExceeded, "too much waits until its program is known")
        }
        caller.early.append((call, link))
        earlyCalls += 1
    }

    private func add(_ name: String) -> Caller {
        lastCaller += 1
        let caller = Caller(name, number: lastCaller)
        callers[name] = caller
        numbered[lastCaller] = caller
        bus.open { [weak self] connection in
            guard let self, case .success(let connection) = connection else { return }
            find(name, connection, times) { [weak self] in self?.found(caller, $0) }
        }
        return caller
    }

    private func found(_ caller: Caller, _ process: Result<ConnectedProcess, ConnectedProcess.Unknown>) {
        guard callers[caller.name] === caller else { return }
        caller.state = state(of: process)
        for (call, link) in takeEarly(caller) where links[ObjectIdentifier(link)] != nil { serve(call, caller, link) }
    }

    private func takeEarly(_ caller: Caller) -> [(call: RelayMessage, link: ServiceLink)] {
        let early = caller.early
        caller.early = []
        earlyCalls -= early.count
        return early
    }

    private func state(of found: Result<ConnectedProcess, ConnectedProcess.Unknown>) -> Caller.State {
        switch found {
        case .failure(let unknown):
            if let user = unknown.user, !accounts.contains(user) { return .passes }
            refusals.notice("A caller of \(service.name) was not identified: \(unknown.reason.reason)")
            return .unidentified
        case .success(let process):
            guard let user = process.user else { return .unidentified }
            guard accounts.contains(user), !passes(process) else { return .passes }
            var hasher = Hasher()
            hasher.combine((try? reader.controlGroups(process.pid)) ?? [])
            let group = UInt64(bitPattern: Int64(hasher.finalize()))
            return .known(Caller.Identity(user: user, pid: process.pid, pidfd: process.pidfd, group: group))
        }
    }

    private func passes(_ process: ConnectedProcess) -> Bool {
        if permds.isRegistered(process.pid) { return true }
        guard let path = executable(process.pid), Pidfd.isAlive(process.pidfd.raw) else { return false }
        if configuration.passing.contains(String(decoding: path, as: UTF8.self)) { return true }
        guard let unit = service.sessionPrograms[Folders.fileName(of: path)] else { return false }
        return SessionUnit(reader: reader).isMain(process.pid, of: unit) && Pidfd.isAlive(process.pidfd.raw)
    }

    private func ownerChanged(_ signal: Message) {
        guard signal.body.count == 3, let name = signal.body[0].stringValue, name.hasPrefix(":") else { return }
        guard signal.body[2].stringValue == "" else { return times?.appeared(name) ?? () }
        times?.vanished(name)
        guard let caller = callers.removeValue(forKey: name) else { return }
        numbered[caller.number] = nil
        _ = takeEarly(caller)
        caller.exit?.cancel()
        endUses(of: caller)
        for number in caller.waiting.keys { _ = forget(number) }
        if let program = caller.program { table.feed(.exited(program)) }
    }

    /// Whether the caller may know everything.
    func isCleared(_ caller: Caller) -> Bool {
        switch caller.state {
        case .passes: true
        case .known(let identity): caller.verdict == .grant || isWithoutPermd(identity.user)
        case .unknown, .unidentified: false
        }
    }

    /// Whether the user's programs pass, since no permd of the user was seen.
    private func isWithoutPermd(_ user: UInt32) -> Bool {
        configuration.withoutPermd == .allow && !users.contains(user)
    }

    /// The user's programs are asked about from now on, and those that have passed until now, since there was no permd.
    private func knows(_ user: UInt32) {
        guard users.insert(user).inserted else { return }
        for caller in callers.values where caller.identity?.user == user && !caller.used.isEmpty {
            wait(Caller.Waiting(.nothing), caller)
        }
    }

    // MARK: Calls

    private func serve(_ call: RelayMessage, _ caller: Caller, _ link: ServiceLink) {
        let header = call.header
        // Of a path that is too long to be read, nothing is known.
        guard let path = header.path else { return refuse(call, link, "there is no such object") }
        let gated = GatedCall(
            path: path, interface: header.interface, member: header.member ?? "", firstText: call.firstText)
        let rule = service.rule(for: gated)
        if rule == .ask { caller.used[ObjectIdentifier(link)] = link }
        if rule == .free || isCleared(caller) {
            noticeUse(gated, header.serial, of: caller, link)
            return link.pass(call)
        }
        guard caller.identity != nil, caller.verdict != .deny else {
            if rule == .view { return link.pass(call) }
            return refuse(call, link, "this program may not use \(service.permission.rawValue)")
        }
        guard mayWait(call) else {
            return link.refuse(call, BusError.Name.limitsExceeded, "a call that waits for an answer is too large")
        }
        guard mayAsk(caller) else {
            if rule == .view { return link.pass(call) }
            return refuse(call, link, "this program has called too often without an answer; try again later")
        }
        wait(Caller.Waiting(rule == .view ? .look(call, link) : .call(call, link)), caller)
    }

    /// What has descriptors, or much content, would take memory of others while it waits.
    private func mayWait(_ call: RelayMessage) -> Bool {
        !call.hasDescriptors && call.fits(GateService.mostWaitingBytes)
    }

    /// Calls that wait for the same answer count as one question.
    private func mayAsk(_ caller: Caller) -> Bool {
        guard caller.waiting.isEmpty else { return true }
        let now = Loop.uptimeMilliseconds()
        if now - caller.firstQuestion >= limits.questions {
            (caller.firstQuestion, caller.questions) = (now, 0)
        }
        caller.questions += 1
        return caller.questions <= GateService.mostQuestions
    }

    private func wait(_ waiting: Caller.Waiting, _ caller: Caller) {
        guard let program = caller.program, let identity = caller.identity else { return }
        repeat { lastCall = lastCall == .max ? 1 : lastCall + 1 } while waiters[lastCall] != nil
        let number = lastCall
        var waiting = waiting
        let time: Int64? =
            switch waiting.what {
            case .look: limits.look
            case .call: limits.patience
            case .nothing: nil
            }
        waiting.timer = time.map { Loop.shared.after(milliseconds: $0) { [weak self] in self?.expired(number) } }
        caller.waiting[number] = waiting
        waiters[number] = caller
        let attempt = Attempt(
            program: program, thread: number, user: identity.user, group: identity.group,
            permission: service.permission, device: 0)
        if case .look = waiting.what { table.feed(.looked(attempt)) } else { table.feed(.attempted(attempt)) }
    }

    /// The person may still answer; that counts for the next call.
    private func expired(_ number: Int32) {
        guard let waiting = forget(number) else { return }
        switch waiting.what {
        case .look(let call, let link):
            table.feed(.lost(thread: number))
            link.pass(call)
        case .call(let call, let link):
            table.feed(.unclaimable(thread: number))
            refuse(call, link, "nobody has answered yet; try again after the answer")
        case .nothing: break
        }
    }

    private func forget(_ number: Int32) -> Caller.Waiting? {
        let waiting = waiters.removeValue(forKey: number)?.waiting.removeValue(forKey: number)
        waiting?.timer?.cancel()
        return waiting
    }

    private func refuse(_ call: RelayMessage, _ link: ServiceLink, _ text: String) {
        refusals.notice("\(call.header.sender ?? "") may not call \(call.header.member ?? ""): \(text)")
        link.refuse(call, BusError.Name.accessDenied, text)
    }

    // MARK: What follows

    private func perform(_ effect: GuardEffect) {
        switch effect {
        // A call waits already.
        case .claim(let attempt): table.feed(.stopped(thread: attempt.thread, hasSignal: false))
        case .dismiss(let number, let release), .release(let number, let release): letGo(number, release)
        case .store(let program, _, _, let verdict): store(verdict, program)
        case .limitReached(let user):
            refusals.notice("Of user \(user), as many calls or programs wait as may; another one's call was refused")
        case .follow(let program, let isFollowed): follow(program, isFollowed)
        case .followSignals, .ask, .withdraw, .startTimer, .stopTimer: break
        }
    }

    /// A grant ends with the process, although a child may hold its connection.
    private func follow(_ program: ProcessImage, _ isFollowed: Bool) {
        guard let caller = numbered[program.start], let identity = caller.identity else { return }
        caller.exit?.cancel()
        caller.exit =
            isFollowed
            ? Loop.shared.watch(identity.pidfd, .readable) { [weak self] _ in self?.table.feed(.exited(program)) } : nil
    }

    private func letGo(_ number: Int32, _ release: Release) {
        guard let caller = waiters[number], let waiting = forget(number) else { return }
        let isDecided = release == .again && (caller.verdict == .grant || caller.verdict == .deny)
        switch waiting.what {
        case .nothing: if caller.verdict != .grant { cut(caller) }
        case .look(let call, let link), .call(let call, let link):
            if isDecided { return serve(call, caller, link) }
            if case .look = waiting.what { return link.pass(call) }
            refuse(call, link, "this program may not use \(service.permission.rawValue) now")
        }
    }

    private func store(_ verdict: GuardVerdict?, _ program: ProcessImage) {
        guard let caller = numbered[program.start] else { return }
        let old = caller.verdict
        caller.verdict = verdict
        if verdict == .grant {
            for link in caller.partialViews.values { tellRest(caller, link) }
            caller.partialViews = [:]
        } else if old == .grant {
            cut(caller)
        }
    }

    /// Ends what the service does for the caller.
    private func cut(_ caller: Caller) {
        for link in caller.used.values {
            link.depart(caller.name)
            cutUses(of: caller, link)
        }
        caller.used = [:]
        endUses(of: caller)
    }
}
