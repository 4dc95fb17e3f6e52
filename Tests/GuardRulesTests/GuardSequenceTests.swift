// Random sequences: whatever happens in whatever order, no thread is held without a question, and none is let go twice.

import PermissionModel
import Testing

@testable import GuardRules

/// What the kernel would do with the effects.
private struct Kernel {
    var claimed: Set<Int32> = []
    var stopped: Set<Int32> = []
    /// What the users' permds were asked.
    var asked: [AskID: UInt32] = [:]
    var sends: [AskID: Int] = [:]
    var received: Set<AskID> = []
    var present: Set<UInt32> = []
    var followed: Set<ProcessImage> = []
    var signals: Set<Int32> = []
    var timers: Set<GuardTimer> = []

    mutating func perform(_ effect: GuardEffect) {
        switch effect {
        case .claim(let attempt):
            #expect(claimed.insert(attempt.thread).inserted, "\(attempt.thread) is claimed twice")
        case .release(let thread, _): #expect(stopped.remove(thread) != nil, "\(thread) is not stopped")
        case .dismiss(let thread, _): #expect(!claimed.contains(thread) && !stopped.contains(thread))
        case .ask(let user, let id, _, _, _, _):
            sends[id, default: 0] += 1
            #expect(sends[id]! == 1 || !received.contains(id), "\(id) is asked again")
            #expect(sends[id]! <= GuardTable.mostSends)
            asked[id] = user
        case .withdraw(_, let id): #expect(asked.removeValue(forKey: id) != nil, "\(id) was not asked")
        case .follow(let program, let isFollowed):
            if isFollowed { followed.insert(program) } else { #expect(followed.remove(program) != nil) }
        case .followSignals(let pid, let isFollowed):
            if isFollowed { #expect(signals.insert(pid).inserted) } else { #expect(signals.remove(pid) != nil) }
        case .startTimer(let timer): timers.insert(timer)
        case .stopTimer(let timer): #expect(timers.remove(timer) != nil)
        case .store(let program, _, _, _): #expect(followed.contains(program), "a decision about nobody is stored")
        case .limitReached: break
        }
    }
}

struct GuardSequenceTests {
    @Test(arguments: 0..<200)
    func everyThreadIsLetGo(seed: Int) {
        var random = Seeded(state: UInt64(seed) &* 0x9E37_79B9 &+ 1)
        var table = GuardTable()
        var kernel = Kernel()
        let programs = (0..<4).map { ProcessImage(pid: Int32($0 / 2) + 10, start: 1, exec: UInt32($0 % 2)) }
        func feed(_ event: GuardEvent) { for effect in table.handle(event) { kernel.perform(effect) } }
        for _ in 0..<300 {
            let program = programs.randomElement(using: &random)!
            let thread = program.pid * 10 + Int32.random(in: 0..<3, using: &random)
            let user = UInt32.random(in: 1000...1001, using: &random)
            let attempt = Attempt(
                program: program, thread: thread, user: UInt32(990 + program.pid), group: 1, permission: .camera,
                device: 1)
            switch Int.random(in: 0..<14, using: &random) {
            case 0, 1, 2:
                if !kernel.claimed.contains(thread), !kernel.stopped.contains(thread) {
                    feed(Int.random(in: 0..<3, using: &random) == 0 ? .looked(attempt) : .attempted(attempt))
                }
            case 3: feed(.failed(attempt))
            case 4:
                if kernel.claimed.remove(thread) != nil {
                    kernel.stopped.insert(thread)
                    feed(.stopped(thread: thread, hasSignal: Bool.random(using: &random)))
                }
            case 5:
                kernel.claimed.remove(thread)
                kernel.stopped.remove(thread)
                feed(Bool.random(using: &random) ? .lost(thread: thread) : .unclaimable(thread: thread))
            case 6: feed(.signalled(pid: program.pid, thread: nil, interruptsCalls: Bool.random(using: &random)))
            case 7:
                // All of its threads end with a process.
                for thread in program.pid * 10..<program.pid * 10 + 3 {
                    kernel.claimed.remove(thread)
                    kernel.stopped.remove(thread)
                    feed(.lost(thread: thread))
                }
                feed(.exited(program))
            case 8: if kernel.present.insert(user).inserted { feed(.registered(user: user, pid: 99)) }
            case 9:
                for (id, _) in kernel.asked.filter({ $0.value == user }) {
                    (kernel.asked[id], kernel.sends[id]) = (nil, nil)
                    kernel.received.remove(id)
                }
                kernel.present.remove(user)
                feed(.departed(user: user))
            case 10: feed(.recheck(user: user, nil))
            case 11:
                if let timer = kernel.timers.randomElement(using: &random) {
                    kernel.timers.remove(timer)
                    feed(.timerFired(timer))
                }
            case 12:
                if let id = kernel.asked.keys.sorted().randomElement(using: &random) {
                    let isReceived = Bool.random(using: &random)
                    if isReceived, kernel.asked[id] == user { kernel.received.insert(id) }
                    feed(isReceived ? .received(user: user, id) : .notReceived(user: user, id))
                }
            default:
                if let id = kernel.asked.keys.sorted().randomElement(using: &random) {
                    let isOfUser = kernel.asked[id] == user
                    feed(.answered(user: user, id, GuardAnswer.allCases.randomElement(using: &random)!))
                    if isOfUser { kernel.asked[id] = nil }
                }
            }
        }
        // Everything that is asked is answered, and every claimed thread stops.
        for user: UInt32 in 1000...1001 where kernel.present.insert(user).inserted {
            feed(.registered(user: user, pid: 99))
        }
        for thread in kernel.claimed {
            kernel.stopped.insert(thread)
            feed(.stopped(thread: thread, hasSignal: false))
        }
        for _ in 0..<3 {
            for (id, user) in kernel.asked {
                feed(.answered(user: user, id, .denied))
                kernel.asked[id] = nil
            }
        }
        #expect(kernel.stopped == [])
        #expect(table.waitingThreads == 0)
        #expect(kernel.signals == [])
    }
}

/// SplitMix64.
private struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
