// Who waits for an answer, and what was decided: turns events into effects. Each program is asked about once for a
// permission, however many of its threads wait.

import PermissionModel

package struct GuardTable {
    /// The programs that are remembered for a user. Of more, the one that asked the longest ago is asked about again.
    package static let programsPerUser = 256
    /// The threads of a user that may wait. More than a desktop's programs have; each costs the kernel a stopped thread.
    package static let threadsPerUser = 1024
    /// The threads of a program that may wait for one permission. More than open devices at the same time.
    package static let threadsPerAsk = 16
    /// Which part of a user's threads and programs may be of one control group, so that no app keeps others from asking.
    package static let groups = 4

    struct Program {
        let user: UInt32
        let group: UInt64
        var verdicts: [Permission: GuardVerdict] = [:]
        var asks: [Permission: AskID] = [:]
        /// Its place in the order of attempts.
        var order: UInt64
        /// Nobody is asked about a media service, nor about the user's permd.
        var passes = false
    }

    struct Ask {
        let program: ProcessImage
        let permission: Permission
        let user: UInt32
        let device: UInt64
        /// Whether a thread waits, or has failed, for lack of an answer. Otherwise it is about what was decided before.
        let waits: Bool
        var threads: Set<Int32> = []
        /// Whether the person is asked about a call that has failed, so that the next one is decided.
        var hasFailed = false
        var isLingering = false
        var delivery = Delivery.unsent
        /// How often it was sent to the permd that is there.
        var sends = 0
    }

    enum Delivery {
        case unsent, onTheWay, received
        /// It is sent again a moment later.
        case failed
    }

    struct Waiter {
        var ask: AskID
        let pid: Int32
        let user: UInt32
        let group: UInt64
        /// Whether it waits only for what is decided already, and not for a person.
        var looks = false
        var isStopped = false
        /// How it goes on as soon as it has stopped.
        var release: Release?
    }

    var programs: [ProcessImage: Program] = [:]
    var asks: [AskID: Ask] = [:]
    var waiters: [Int32: Waiter] = [:]
    /// The processes of the permds that are there, by user.
    var present: [UInt32: Int32] = [:]
    /// The users whose permd is waited for.
    var awaited: Set<UInt32> = []
    /// What is on its way to each user's permd.
    var onTheWay: [UInt32: Set<AskID>] = [:]
    /// The users whose questions are sent again a moment later.
    var resending: Set<UInt32> = []
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
        case .looked(let attempt): looked(attempt)
        case .failed(let attempt): failed(attempt)
        case .passed(let attempt): passed(attempt)
        case .restored(let program, let user, let permission, let verdict, let passes):
            restored(program, user, permission, verdict, passes: passes)
        case .stopped(let thread, let hasSignal): stopped(thread, hasSignal)
        case .lost(let thread): forget(thread)
        case .unclaimable(let thread): failed(thread)
        case .signalled(let pid, let thread, let interrupts): signalled(pid, thread, interrupts)
        case .exited(let program): drop(program)
        case .registered(let user, let pid): registered(user, pid)
        case .departed(let user): departed(user)
        case .received(let user, let id): received(user, id)
        case .notReceived(let user, let id): notReceived(user, id)
        case .answered(let user, let id, let answer): answered(user, id, answer)
        case .recheck(let user, let permission): recheck(user, permission)
        case .timerFired(.permd(let user)): permdIsMissing(user)
        case .timerFired(.resend(let user)): resend(user)
        case .timerFired(.thread(let id)): threadIsMissing(id)
        }
        return effects
    }

    // MARK: Attempts

    private mutating func attempted(_ attempt: Attempt) {
        // It was claimed already.
        guard waiters[attempt.thread] == nil else { return }
        // It was decided meanwhile.
        if let verdict = programs[attempt.program]?.verdicts[attempt.permission], verdict != .cut {
            return effects.append(.dismiss(thread: attempt.thread, .again))
        }
        guard hasPlace(attempt), remember(attempt.program, of: attempt.user, attempt.group) else {
            effects += [.dismiss(thread: attempt.thread, .refused), .limitReached(user: attempt.user)]
            return
        }
        let id = ask(attempt)
        stopLingering(id)
        wait(attempt, for: id, looks: false)
    }

    mutating func wait(_ attempt: Attempt, for id: AskID, looks: Bool) {
        asks[id]?.threads.insert(attempt.thread)
        let isFirst = !waiters.values.contains { $0.pid == attempt.program.pid }
        waiters[attempt.thread] = Waiter(
            ask: id, pid: attempt.program.pid, user: attempt.user, group: attempt.group, looks: looks)
        if isFirst { effects.append(.followSignals(pid: attempt.program.pid, true)) }
        effects.append(.claim(attempt))
    }

    func hasPlace(_ attempt: Attempt) -> Bool {
        if let id = programs[attempt.program]?.asks[attempt.permission], let ask = asks[id],
            ask.threads.count >= GuardTable.threadsPerAsk
        {
            return false
        }
        let others = waiters.values.filter { $0.user == attempt.user }
        return others.count < GuardTable.threadsPerUser
            && others.count(where: { $0.group == attempt.group }) < GuardTable.threadsPerUser / GuardTable.groups
    }

    private mutating func failed(_ attempt: Attempt) {
        guard remember(attempt.program, of: attempt.user, attempt.group) else {
            return effects.append(.limitReached(user: attempt.user))
        }
        let verdict = programs[attempt.program]?.verdicts[attempt.permission]
        guard verdict == nil || verdict == .cut else { return }
        let id = ask(attempt)
        asks[id]?.hasFailed = true
    }

    private mutating func passed(_ attempt: Attempt) {
        effects.append(.dismiss(thread: attempt.thread, .again))
        guard remember(attempt.program, of: attempt.user, attempt.group) else { return }
        programs[attempt.program]?.passes = true
        store(attempt.program, attempt.permission, .grant)
    }

    private mutating func restored(
        _ program: ProcessImage, _ user: UInt32, _ permission: Permission, _ verdict: GuardVerdict, passes: Bool
    ) {
        // Which control group it is in counts from its next attempt.
        guard remember(program, of: user, 0) else {
            return effects.append(.store(program, user: user, permission, nil))
        }
        programs[program]?.verdicts[permission] = verdict
        programs[program]?.passes = passes
    }

    /// Returns false if there is no place for one more program of the user, or of the control group.
    mutating func remember(_ program: ProcessImage, of user: UInt32, _ group: UInt64) -> Bool {
        order += 1
        if programs[program] != nil {
            programs[program]?.order = order
            return true
        }
        var others = programs.filter { $0.value.user == user }
        let siblings = others.filter { $0.value.group == group }
        let isShareFull = siblings.count >= GuardTable.programsPerUser / GuardTable.groups
        if isShareFull { others = siblings }
        if isShareFull || others.count >= GuardTable.programsPerUser {
            // Media services are few, and are not forgotten for others.
            let idle = others.filter { $0.value.asks.isEmpty && !$0.value.passes }
            guard let oldest = idle.min(by: { $0.value.order < $1.value.order })?.key else { return false }
            drop(oldest)
        }
        programs[program] = Program(user: user, group: group, order: order)
        effects.append(.follow(program, true))
        return true
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

    mutating func addAsk(_ ask: Ask) -> AskID {
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

    mutating func letGo(_ thread: Int32, _ release: Release) {
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

    mutating func end(_ id: AskID, withdraws: Bool) {
        stopLingering(id)
        guard let ask = asks.removeValue(forKey: id) else { return }
        programs[ask.program]?.asks[ask.permission] = nil
        if withdraws, ask.sends > 0 { effects.append(.withdraw(user: ask.user, id)) }
        arrived(ask.user, id)
    }

    mutating func drop(_ program: ProcessImage) {
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

    mutating func store(_ program: ProcessImage, _ permission: Permission, _ verdict: GuardVerdict?) {
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
        if answer == .undecided, !ask.waits {
            letLookersGo(id)
            // A thread has begun to wait meanwhile.
            if asks[id].map({ !$0.threads.isEmpty || $0.hasFailed }) == true { return askAnew(id) }
        }
        // It may have been received twice, and be asked about again.
        finish(id, answer == .undecided ? .refused : .again, withdraws: ask.sends > 1)
    }

    /// The person is asked for the threads of a question about what was decided before.
    private mutating func askAnew(_ id: AskID) {
        guard let old = asks[id] else { return }
        end(id, withdraws: false)
        let new = addAsk(
            Ask(
                program: old.program, permission: old.permission, user: old.user, device: old.device, waits: true,
                threads: old.threads, hasFailed: old.hasFailed))
        for thread in old.threads { waiters[thread]?.ask = new }
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
}
