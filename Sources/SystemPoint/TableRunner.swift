// Runs `GuardTable` for a point of the system: questions and timers are here; what else follows is the point's.

package import DBus
import Glibc
package import GuardRules

@LoopActor
package final class TableRunner {
    /// Milliseconds after which what a permd has not received is sent again.
    private static let resendTime: Int64 = 1000
    /// Milliseconds in which a thread that handled a signal makes its call again.
    private static let lingerTime: Int64 = 500

    /// The process that a question is about, and its executable, if a permd may not look at it; otherwise empty.
    package typealias Subject = (pidfd: UnixFD, program: String)

    private let permds: PermdRegistry
    /// Nil if the program is not there any more.
    private let subject: @LoopActor (ProcessImage, _ user: UInt32) -> Subject?
    /// Does what is no question and no timer.
    private let perform: @LoopActor (GuardEffect) -> Void
    /// Seconds for which a permd that has left is waited for.
    package var waitForPermd = 0
    /// The clock's time is greater than what any earlier run has counted to.
    private var table = GuardTable(firstAsk: UInt64(Loop.nanoseconds(of: CLOCK_BOOTTIME)))
    private var timers: [GuardTimer: LoopTimer] = [:]
    private var inbox: [GuardEvent] = []
    private var isFeeding = false

    package init(
        _ permds: PermdRegistry, subject: @escaping @LoopActor (ProcessImage, _ user: UInt32) -> Subject?,
        perform: @escaping @LoopActor (GuardEffect) -> Void
    ) {
        (self.permds, self.subject, self.perform) = (permds, subject, perform)
        permds.feed = { [weak self] in self?.feed($0) }
    }

    /// Events that effects cause come after all effects of the event before.
    package func feed(_ event: GuardEvent) {
        inbox.append(event)
        guard !isFeeding else { return }
        isFeeding = true
        defer { isFeeding = false }
        while !inbox.isEmpty {
            let next = inbox.removeFirst()
            for effect in table.handle(next) { apply(effect) }
        }
    }

    private func apply(_ effect: GuardEffect) {
        switch effect {
        case .ask(let user, let id, let program, let permission, let device, let waits):
            guard let subject = subject(program, user) else { return }
            permds.ask(
                user, id, subject.pidfd, permission, device: device, program: subject.program, waits: waits)
        case .withdraw(let user, let id): permds.withdraw(user, id)
        case .startTimer(let timer):
            timers[timer]?.cancel()
            timers[timer] = Loop.shared.after(milliseconds: milliseconds(timer)) { [weak self] in
                self?.timers[timer] = nil
                self?.feed(.timerFired(timer))
            }
        case .stopTimer(let timer): timers.removeValue(forKey: timer)?.cancel()
        default: perform(effect)
        }
    }

    private func milliseconds(_ timer: GuardTimer) -> Int64 {
        switch timer {
        case .permd: Int64(waitForPermd) * 1000
        case .resend: TableRunner.resendTime
        case .thread: TableRunner.lingerTime
        }
    }

    package func stop() {
        for timer in timers.values { timer.cancel() }
    }
}
