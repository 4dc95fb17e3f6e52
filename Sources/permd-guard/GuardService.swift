// Joins the kernel, the threads and the users' permds: what happens goes to `GuardTable`, and what follows is done here.

import CGuard
import DBus
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
final class GuardService {
    /// Nanoseconds in which a thread has to be claimed; until then it repeats its call, which takes a processor. It takes
    /// microseconds, but this program may get no processor for seconds, as on a machine that swaps or is emulated. What
    /// fails by then fails for long: a session manager that may not look at a card leaves it out.
    private static let claimTime: UInt64 = 10_000_000_000
    /// The events that a thread counts for which cannot be attached to at once: with as many as a user may cause, this program
    /// would do nothing else.
    private static let costOfWaiting: UInt32 = 20

    private let log: Logger
    private let failures: BoundedLog
    private let kernel: Kernel
    private let threads: StoppedThreads
    private let reader = ProcessReader()
    private lazy var nodes = GuardedNodes(kernel) { [weak self] in self?.nodesChanged() }
    private lazy var permds = PermdRegistry(
        BusNames.guardService, log: log, executable: { [reader] in reader.systemExecutable($0) })
    private lazy var table = TableRunner(
        permds, subject: { [weak self] in self?.subject($0, $1) }, perform: { [weak self] in self?.perform($0) })
    private var configuration: GuardConfiguration
    private var configurationProblems: [RuleProblem] = []
    private var programs: [ProcessImage: (pidfd: UnixFD, end: WatchToken)] = [:]
    /// Threads that wait until it is known what node they open.
    private var unsorted: Set<UInt32> = []
    private(set) var exitStatus: Int32 = 0

    init(object: String, log: Logger) throws(KernelProblem) {
        self.log = log
        failures = BoundedLog(log, "threads could not be stopped, so their calls failed")
        kernel = try Kernel(object: object)
        threads = StoppedThreads(waits: kernel.waits)
        (configuration, configurationProblems) = GuardConfiguration.read()
        for problem in configurationProblems { log.error("\(problem.text)") }
        // Whoever waited for an earlier run is refused, so its events say nothing any more.
        for user in kernel.users.keys { makeWaits(user) }
        kernel.reported.removeAll()
        kernel.setSubordinates(SubordinateUsers.read(log))
        apply(configuration)
        try kernel.attach()
        kernel.onEvent = { [weak self] in self?.received($0) }
        kernel.onMissed = { hooks in
            for hook in hooks {
                log.error("the kernel has left out \(hook), so that a program may have passed; permctl doctor shows it")
            }
        }
    }

    func start() {
        for key in kernel.verdicts.keys { restore(key) }
        nodes.start()
        do throws(KernelProblem) { try kernel.startEvents() } catch {
            log.error("\(error.message)")
            return fail()
        }
        permds.state = { [weak self] in self?.state ?? PermdRegistry.State() }
        permds.onUser = { [weak self] in self?.knows($0) }
        permds.start { [weak self] in self?.fail() }
    }

    private func fail() {
        exitStatus = 1
        Loop.shared.stop()
    }

    /// Nobody claims threads any more, so that calls fail at once.
    func stop() {
        apply(configuration, isRunning: false)
        table.stop()
    }

    /// What an earlier run has stored goes on.
    private func restore(_ key: guard_verdict_key) {
        let program = GuardKinds.program(key.process)
        guard let stored = kernel.verdicts[key], let verdict = GuardKinds.verdict(stored.verdict),
            let permission = GuardKinds.permission(key.kind)
        else { return kernel.verdicts.remove(key) }
        feed(.restored(program, user: stored.user, permission, verdict, passes: passes(program, permission)))
    }

    // MARK: Settings

    func readConfiguration() {
        let found = GuardConfiguration.read(over: configuration)
        for problem in found.problems where !configurationProblems.contains(problem) { log.error("\(problem.text)") }
        (configuration, configurationProblems) = found
        kernel.setSubordinates(SubordinateUsers.read(log))
        apply(configuration)
    }

    private func apply(_ configuration: GuardConfiguration, isRunning: Bool = true) {
        table.waitForPermd = configuration.waitForPermd
        let accounts = LoginUsers.accounts()
        kernel.settings.set(
            0,
            guard_settings(
                claim_time: GuardService.claimTime, first_user: accounts.lowerBound, last_user: accounts.upperBound,
                absent: configuration.withoutPermd == .allow ? GUARD_PASS.rawValue : GUARD_REFUSE.rawValue,
                is_running: isRunning ? 1 : 0))
    }

    private var state: PermdRegistry.State {
        var problems = configurationProblems.map(\.text) + nodes.problems + kernel.problems
        if let scope = try? RegularFile.read("/proc/sys/kernel/yama/ptrace_scope", maximum: 16), scope.first == 0x33 {
            problems.append(
                "kernel.yama.ptrace_scope is 3, so no program can wait for an answer; set it to 2 or less")
        }
        return PermdRegistry.State(cuts: kernel.isStreaming, problems: problems)
    }

    // MARK: The kernel's events

    private func received(_ event: guard_event) {
        switch guard_event_type(event.type) {
        case GUARD_SIGNALLED:
            feed(
                .signalled(
                    pid: Int32(bitPattern: event.process.pid),
                    thread: event.thread == 0 ? nil : Int32(bitPattern: event.thread), interruptsCalls: event.call != 0)
            )
        case GUARD_NOT_CLAIMED:
            failures.notice("process \(event.process.pid) was not stopped in time, so its call failed")
        case GUARD_ASKED:
            guard let attempt = attempt(event) else { return }
            if event.isUnsorted {
                sort(event)
            } else if attempt.permission == .bluetooth, !BluetoothAdapters.areThere {
                threads.dismiss(attempt.thread, GUARD_ABSENT)
            } else {
                feed(.attempted(attempt))
            }
        case GUARD_REFUSED:
            guard let attempt = attempt(event), !event.isUnsorted else { return }
            failures.notice(
                "process \(event.process.pid) cannot be stopped, since a debugger traces it or it uses io_uring; its call failed"
            )
            feed(.failed(attempt))
        default: break
        }
    }

    private func sort(_ event: guard_event) {
        switch nodes.isKnown(event.device) {
        case true: kernel.waits.remove(event.thread)
        case false: unsorted.insert(event.thread)
        case nil: threads.dismiss(Int32(bitPattern: event.thread), GUARD_GIVEN_UP)
        }
    }

    /// A node has become known: who waited for that makes the call again.
    private func nodesChanged() {
        for thread in unsorted { kernel.waits.remove(thread) }
        unsorted = []
    }

    /// Nil if the process passes.
    private func attempt(_ event: guard_event) -> Attempt? {
        let thread = Int32(bitPattern: event.thread)
        let program = GuardKinds.program(event.process)
        guard let permission = GuardKinds.permission(event.kind) else {
            threads.dismiss(thread, GUARD_GIVEN_UP)
            return nil
        }
        let attempt = Attempt(
            program: program, thread: thread, user: event.user, group: event.group, permission: permission,
            device: GuardedNodes.statNumber(event.device))
        guard passes(program, permission) else { return attempt }
        feed(.passed(attempt))
        return nil
    }

    private func passes(_ program: ProcessImage, _ permission: Permission) -> Bool {
        if permds.isRegistered(program.pid) { return true }
        guard let path = reader.systemExecutable(program.pid) else { return false }
        return PassingPrograms(paths: configuration.passing).contains(path, permission) {
            SessionUnit(reader: reader).isMain(program.pid, of: $0)
        }
    }

    /// Opens a pidfd, which refers to the process whatever its ID becomes later.
    private func follow(_ program: ProcessImage) {
        let pidfd = UnixFD(owning: Pidfd.open(program.pid))
        guard pidfd.raw >= 0, isSame(program) else { return feed(.exited(program)) }
        let end = Loop.shared.watch(pidfd, .readable) { [weak self] _ in self?.feed(.exited(program)) }
        programs[program] = (pidfd, end)
    }

    private func isSame(_ program: ProcessImage) -> Bool {
        // proc(5) counts in ticks of USER_HZ, which is 100 everywhere.
        (try? reader.startTime(program.pid)) == program.start / 10_000_000
    }

    func threadsChanged() {
        threads.changes { [self] thread, isStopped in
            feed(
                isStopped
                    ? .stopped(thread: thread, hasSignal: threads.hasSignal(thread)) : .lost(thread: thread))
        }
    }

    // MARK: Effects

    private func feed(_ event: GuardEvent) { table.feed(event) }

    private func perform(_ effect: GuardEffect) {
        switch effect {
        case .claim(let attempt): claim(attempt)
        case .dismiss(let thread, let release): threads.dismiss(thread, GuardKinds.claim(release))
        case .release(let thread, let release): threads.release(thread, GuardKinds.claim(release))
        case .store(let program, let user, let permission, let verdict): store(program, user, permission, verdict)
        case .followSignals(let pid, true): kernel.reported.set(UInt32(bitPattern: pid), 1)
        case .followSignals(let pid, false): kernel.reported.remove(UInt32(bitPattern: pid))
        case .follow(let program, false): programs.removeValue(forKey: program)?.end.cancel()
        case .follow(let program, true): follow(program)
        case .limitReached(let user):
            failures.notice("of user \(user), as many threads or programs wait as may; another one's call failed")
        case .ask, .withdraw, .startTimer, .stopTimer: break
        }
    }

    private func subject(_ program: ProcessImage, _ user: UInt32) -> TableRunner.Subject? {
        programs[program].map { ($0.pidfd, executable(program, of: user)) }
    }

    private func claim(_ attempt: Attempt) {
        do throws(StoppedThreads.Refusal) { try threads.claim(attempt.thread) } catch {
            switch error {
            case .failed(ESRCH): return feed(.lost(thread: attempt.thread))
            // It stops, and is let go since nobody knows it.
            case .late: break
            case .failed(let code):
                if code == EBUSY { kernel.charge(GuardService.costOfWaiting, to: attempt) }
                failures.notice("process \(attempt.program.pid) cannot be stopped: \(errorText(code)); its call failed")
            }
            feed(.unclaimable(thread: attempt.thread))
        }
    }

    private func store(
        _ program: ProcessImage, _ user: UInt32, _ permission: Permission, _ verdict: GuardVerdict?
    ) {
        let key = GuardKinds.key(program, permission)
        guard let verdict else { return kernel.verdicts.remove(key) }
        if !kernel.verdicts.set(key, guard_decision(verdict: GuardKinds.value(verdict).rawValue, user: user)) {
            failures.notice("the decision about process \(program.pid) could not be stored: \(errorText())")
        }
    }

    /// The executable by which permd knows a process that it cannot identify; empty if it can. In a PID namespace of its
    /// own, as that of a container, it is known by the program that made the outermost one.
    private func executable(_ program: ProcessImage, of user: UInt32) -> String {
        let path = try? { () throws(UnknownProcess) -> [UInt8] in
            guard try reader.sharesPids(program.pid) else {
                return try reader.executableLink(reader.ancestors(of: program.pid).last?.pid ?? 0)
            }
            return try reader.userIDs(program.pid) == [user] ? [] : reader.executableLink(program.pid)
        }()
        return String(validating: path ?? [], as: UTF8.self) ?? ""
    }

    /// Users with a permd are asked about from now on, also while it is away.
    private func knows(_ user: UInt32) {
        guard kernel.users[user] == nil else { return }
        // Those of an account that is new.
        kernel.setSubordinates(SubordinateUsers.read(log))
        makeWaits(user)
        kernel.users.set(user, guard_user(rate: guard_rate(), mode: GUARD_HOLD.rawValue, unused: 0))
    }

    private func makeWaits(_ user: UInt32) {
        guard !kernel.waits.make(user) else { return }
        log.error("programs of user \(user) cannot wait, so their calls fail: \(errorText())")
    }
}

extension guard_event {
    fileprivate var isUnsorted: Bool { kind & GUARD_UNSORTED.rawValue != 0 }
}
