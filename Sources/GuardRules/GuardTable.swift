// Who waits for an answer, and what was decided: turns events into effects. Each program is asked about once for a
// permission, however many of its threads wait.

import PermissionModel

package struct GuardTable {
    /// The programs that are remembered for a user. Of more, the one that asked the longest ago is asked about again.
    package static let programsPerUser = 256
    /// The threads of a user that may wait. More than a desktop's programs have; each costs the kernel a stopped thread.
    package static let threadsPerUser = 128

    private struct Program {
        let user: UInt32
        var verdicts: [Permission: GuardVerdict] = [:]
        var asks: [Permission: AskID] = [:]
        /// Its place in the order of attempts.
        var order: UInt64
        /// Nobody is asked about a media service.
        var passes = false
    }

    struct Ask {
        let program: ProcessImage
        let permission: Permission
        let user: UInt32
        let device: UInt64
        /// Whether a thread waits, or has failed, for lack of an answer. Otherwise it is about what was decided before.
        var waits: Bool
        var threads: Set<Int32> = []
        /// Whether the person is asked about a call that has failed, so that the next one is decided.
        var hasFailed = false
        var isLingering = false
        /// How often it was sent to the permd that is there.
        var sends = 0
    }

    private struct Waiter {
        var ask: AskID
        let pid: Int32
        var isStopped = false
        /// How it goes on as soon as it has stopped.
        var release: Release?
    }

    private var programs: [ProcessImage: Program] = [:]
    var asks: [AskID: Ask] = [:]
    private var waiters: [Int32: Waiter] = [:]
    /// The users whose permd is there.
    var present: Set<UInt32> = []
    /// The users whose permd is waited for.
    var awaited: Set<UInt32> = []
    /// What was sent to each user's permd and is not received yet.
    var onTheWay: [UInt32: Set<AskID>] = [:]
    private var lastAsk: AskID
    private var order: UInt64 = 0
    var effects: [GuardEffect] = []

    /// - Parameter firstAsk: IDs go on from there, so that an answer to an earlier run is not taken for one to this.
    package init(firstAsk: AskID = 0) { lastAsk = firstAsk }

    package var waitingThreads: Int { waiters.count }

    package mutating func handle(_ event: GuardEvent) -> [GuardEffect] {
        effects = []
        switch event {
        case .attempted(let attempt): attempted(attempt)
        case .failed(let attempt): failed(attempt)
        case .passed(let attempt): passed(attempt)
        case .restored(let program, let user, let permission, let verdict, let passes):
            restored(program, user, permission, verdict, passes: passes)
        case .stopped(let thread, let hasSignal): stopped(thread, hasSignal)
        case .lost(let thread): forget(thread)
        case .unclaimable(let thread): failed(thread)
        case .signalled(let pid, let thread, let interrupts): signalled(pid, thread, interrupts)
        case .exited(let program): drop(program)
        case .registered(let user): registered(user)
        case .departed(let user): departed(user)
        case .received(let user, let id): received(user, id)
        case .answered(let user, let id, let answer): answered(user, id, answer)
        case .recheck(let user, let permission): recheck(user, permission)
        case .timerFired(.permd(let user)): permdIsMissing(user)
        case .timerFired(.receipts(let user)): receiptsAreMissing(user)
        case .timerFired(.thread(let id)): threadIsMissing(id)
        }
        return effects
    }

    // MARK: Attempts

    private mutating func attempted(_ attempt: Attempt) {
        // It was claimed already.
        guard waiters[attempt.thread] == nil else { return }
        guard remember(attempt.program, of: attempt.user), waiters(of: attempt.user) < GuardTable.threadsPerUser else {
            effects += [.dismiss(thread: attempt.thread, .refused), .limitReached(user: attempt.user)]
            return
        }
        if let verdict = programs[attempt.program]?.verdicts[attempt.permission], verdict != .cut {
            return effects.append(.dismiss(thread: attempt.thread, .again))
        }
        let id = ask(attempt)
        asks[id]?.threads.insert(attempt.thread)
        stopLingering(id)
        let isFirst = !waiters.values.contains { $0.pid == attempt.program.pid }
        waiters[attempt.thread] = Waiter(ask: id, pid: attempt.program.pid)
        if isFirst { effects.append(.followSignals(pid: attempt.program.pid, true)) }
        effects.append(.claim(thread: attempt.thread, pid: attempt.program.pid))
    }

    private mutating func failed(_ attempt: Attempt) {
        guard remember(attempt.program, of: attempt.user) else {
            return effects.append(.limitReached(user: attempt.user))
        }
        let verdict = programs[attempt.program]?.verdicts[attempt.permission]
        guard verdict == nil || verdict == .cut else { return }
        let id = ask(attempt)
        asks[id]?.hasFailed = true
    }

    private mutating func passed(_ attempt: Attempt) {
        effects.append(.dismiss(thread: attempt.thread, .again))
        guard remember(attempt.program, of: attempt.user) else { return }
        programs[attempt.program]?.passes = true
        store(attempt.program, attempt.permission, .grant)
    }

    private mutating func restored(
        _ program: ProcessImage, _ user: UInt32, _ permission: Permission, _ verdict: GuardVerdict, passes: Bool
    ) {
        guard remember(program, of: user) else {
            return effects.append(.store(program, user: user, permission, nil))
        }
        programs[program]?.verdicts[permission] = verdict
        programs[program]?.passes = passes
    }

    /// Returns false if there is no place for one more program of the user.
    private mutating func remember(_ program: ProcessImage, of user: UInt32) -> Bool {
        order += 1
        if programs[program] != nil {
            programs[program]?.order = order
            return true
        }
        let others = programs.filter { $0.value.user == user }
        if others.count >= GuardTable.programsPerUser {
            // Parts of the session are few, and are not forgotten for others.
            let idle = others.filter { $0.value.asks.isEmpty && !$0.value.passes }
            guard let oldest = idle.min(by: { $0.value.order < $1.value.order })?.key else { return false }
            drop(oldest)
        }
        programs[program] = Program(user: user, order: order)
        effects.append(.follow(program, true))
        return true
    }

    private func waiters(of user: UInt32) -> Int {
        asks.values.reduce(0) { $0 + ($1.user == user ? $1.threads.count : 0) }
    }

    /// Returns the question about this program and permission. One about what was decided before becomes one for which a
    /// thread waits when it is answered.
    private mutating func ask(_ attempt: Attempt) -> AskID {
        if let id = programs[attempt.program]?.asks[attempt.permission] { return id }
        return addAsk(
            Ask(
                program: attempt.program, permission: attempt.permission, user: attempt.user,
                device: attempt.device, waits: true))
    }

    private mutating func addAsk(_ ask: Ask) -> AskID {
        lastAsk += 1
        asks[lastAsk] = ask
        programs[ask.program]?.asks[ask.permission] = lastAsk
        send(lastAsk)
        return lastAsk
    }

    // MARK: Threads

    private mutating func stopped(_ thread: Int32, _ hasSignal: Bool) {
        guard let waiter = waiters[thread] else { return effects.append(.release(thread: thread, .again)) }
        waiters[thread]?.isStopped = true
        if let release = waiter.release {
            letGo(thread, release)
        } else if hasSignal {
            letGo(thread, .again)
            linger(waiter.ask)
        }
    }

    private mutating func letGo(_ thread: Int32, _ release: Release) {
        guard let waiter = waiters[thread] else { return }
        guard waiter.isStopped else {
            waiters[thread]?.release = release
            return
        }
        effects.append(.release(thread: thread, release))
        remove(thread)
    }

    private mutating func remove(_ thread: Int32) {
        guard let waiter = waiters.removeValue(forKey: thread) else { return }
        asks[waiter.ask]?.threads.remove(thread)
        if !waiters.values.contains(where: { $0.pid == waiter.pid }) {
            effects.append(.followSignals(pid: waiter.pid, false))
        }
    }

    private mutating func forget(_ thread: Int32) {
        guard let waiter = waiters[thread] else { return }
        remove(thread)
        endIfUnused(waiter.ask)
    }

    private mutating func failed(_ thread: Int32) {
        guard let waiter = waiters[thread] else { return }
        asks[waiter.ask]?.hasFailed = true
        remove(thread)
    }

    private mutating func signalled(_ pid: Int32, _ thread: Int32?, _ interrupts: Bool) {
        let hit = waiters.filter { $0.value.pid == pid && (thread == nil || $0.key == thread) }
        for (thread, waiter) in hit.sorted(by: { $0.key < $1.key }) where waiter.release == nil {
            letGo(thread, interrupts ? .interrupted : .again)
        }
        for id in Set(hit.values.map(\.ask)).sorted() { linger(id) }
    }

    /// A program that handles the signal makes its call again, at once or after it was stopped for a while.
    private mutating func linger(_ id: AskID) {
        guard let ask = asks[id], !ask.isLingering, isUnused(ask) else { return }
        asks[id]?.isLingering = true
        effects.append(.startTimer(.thread(id)))
    }

    private mutating func stopLingering(_ id: AskID) {
        guard asks[id]?.isLingering == true else { return }
        asks[id]?.isLingering = false
        effects.append(.stopTimer(.thread(id)))
    }

    private mutating func threadIsMissing(_ id: AskID) {
        asks[id]?.isLingering = false
        endIfUnused(id)
    }

    /// Whether no thread waits for it that is not about to go on.
    private func isUnused(_ ask: Ask) -> Bool {
        ask.waits && !ask.hasFailed && ask.threads.allSatisfy { waiters[$0]?.release != nil }
    }

    private mutating func endIfUnused(_ id: AskID) {
        guard let ask = asks[id], isUnused(ask), ask.threads.isEmpty, !ask.isLingering else { return }
        end(id, withdraws: true)
    }

    private mutating func end(_ id: AskID, withdraws: Bool) {
        stopLingering(id)
        guard let ask = asks.removeValue(forKey: id) else { return }
        programs[ask.program]?.asks[ask.permission] = nil
        if withdraws, ask.sends > 0 { effects.append(.withdraw(user: ask.user, id)) }
        received(ask.user, id)
    }

    private mutating func drop(_ program: ProcessImage) {
        guard let known = programs[program] else { return }
        for id in known.asks.values.sorted() {
            for thread in asks[id]?.threads.sorted() ?? [] { remove(thread) }
            end(id, withdraws: true)
        }
        for permission in known.verdicts.keys.sorted() {
            effects.append(.store(program, user: known.user, permission, nil))
        }
        programs[program] = nil
        effects.append(.follow(program, false))
    }

    // MARK: Answers

    private mutating func store(_ program: ProcessImage, _ permission: Permission, _ verdict: GuardVerdict?) {
        guard let known = programs[program], known.verdicts[permission] != verdict else { return }
        programs[program]?.verdicts[permission] = verdict
        effects.append(.store(program, user: known.user, permission, verdict))
    }

    private mutating func answered(_ user: UInt32, _ id: AskID, _ answer: GuardAnswer) {
        // A permd speaks of its own user's processes only.
        guard let ask = asks[id], ask.user == user else { return }
        switch answer {
        case .granted: store(ask.program, ask.permission, .grant)
        case .denied: store(ask.program, ask.permission, .deny)
        case .undecided: refused(ask)
        }
        if answer == .undecided, !ask.waits, !ask.threads.isEmpty || ask.hasFailed {
            // A thread has begun to wait meanwhile.
            asks[id]?.waits = true
            return askAnew(id, withdraws: false)
        }
        // It may have been received twice, and be asked about again.
        finish(id, answer == .undecided ? .refused : .again, withdraws: ask.sends > 1)
    }

    /// A new question takes the place of this one, with its threads.
    private mutating func askAnew(_ id: AskID, withdraws: Bool) {
        guard var ask = asks[id] else { return }
        end(id, withdraws: withdraws)
        ask.sends = 0
        let new = addAsk(ask)
        for thread in ask.threads { waiters[thread]?.ask = new }
    }

    /// What is undecided now: a grant that was taken back cuts what is open, a denial that was taken back is asked about.
    mutating func refused(_ ask: Ask) {
        switch programs[ask.program]?.verdicts[ask.permission] {
        case .grant: store(ask.program, ask.permission, .cut)
        case .deny: store(ask.program, ask.permission, nil)
        case .cut, nil: break
        }
    }

    mutating func finish(_ id: AskID, _ release: Release, withdraws: Bool = false) {
        guard let ask = asks[id] else { return }
        for thread in ask.threads.sorted() { letGo(thread, release) }
        end(id, withdraws: withdraws)
    }

    private mutating func recheck(_ user: UInt32, _ permission: Permission?) {
        guard present.contains(user) else { return }
        for (program, known) in programs.sorted(by: { $0.value.order < $1.value.order })
        where known.user == user && !known.passes {
            for decided in known.verdicts.keys.sorted() where permission == nil || decided == permission {
                recheck(program, known, decided)
            }
        }
    }

    private mutating func recheck(_ program: ProcessImage, _ known: Program, _ permission: Permission) {
        if let id = known.asks[permission] {
            // What a thread waits for is answered by what is true then.
            if asks[id]?.waits == false { askAnew(id, withdraws: true) }
            return
        }
        _ = addAsk(Ask(program: program, permission: permission, user: known.user, device: 0, waits: false))
    }

    // MARK: permd

    private mutating func registered(_ user: UInt32) {
        present.insert(user)
        if awaited.remove(user) != nil { effects.append(.stopTimer(.permd(user: user))) }
        for (id, ask) in asks.sorted(by: { $0.key < $1.key }) where ask.user == user { send(id) }
        recheck(user, nil)
    }

    private mutating func departed(_ user: UInt32) {
        guard present.remove(user) != nil else { return }
        awaitNoReceipts(user)
        for (id, ask) in asks.sorted(by: { $0.key < $1.key }) where ask.user == user {
            asks[id]?.sends = 0
            // What was decided goes on. The next permd is asked about all of it.
            if ask.waits || !ask.threads.isEmpty { send(id) } else { end(id, withdraws: false) }
        }
    }

    private mutating func permdIsMissing(_ user: UInt32) {
        awaited.remove(user)
        for (id, ask) in asks.sorted(by: { $0.key < $1.key }) where ask.user == user { finish(id, .refused) }
    }
}
