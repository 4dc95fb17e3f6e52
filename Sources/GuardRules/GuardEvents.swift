// What happens to threads that use a guarded device, and what follows from it.

package import PermissionModel

/// A program that a process runs. An exec is another one, which has to be asked about again.
package struct ProcessImage: Sendable, Hashable {
    package let pid: Int32
    /// Nanoseconds after boot (CLOCK_BOOTTIME) at which the process began.
    package let start: UInt64
    /// Counts the execs of the process; the kernel's `self_exec_id`.
    package let exec: UInt32

    package init(pid: Int32, start: UInt64, exec: UInt32) { (self.pid, self.start, self.exec) = (pid, start, exec) }
}

/// A thread wants to use a device, and nothing is decided about its program.
package struct Attempt: Sendable, Hashable {
    package let program: ProcessImage
    package let thread: Int32
    /// The user who is responsible for the process.
    package let user: UInt32
    /// The process's control group, by the kernel's number. A sandboxed app cannot leave its own.
    package let group: UInt64
    package let permission: Permission
    /// The number of the device's node, as stat(2) has it.
    package let device: UInt64

    package init(
        program: ProcessImage, thread: Int32, user: UInt32, group: UInt64, permission: Permission, device: UInt64
    ) {
        (self.program, self.thread, self.user, self.group) = (program, thread, user, group)
        (self.permission, self.device) = (permission, device)
    }
}

/// What the kernel does at the next attempt, without asking.
package enum GuardVerdict: Sendable, Hashable, CaseIterable {
    case grant, deny
    /// What is open gives no further image; what is opened is asked about.
    case cut
}

package typealias AskID = UInt64

package enum GuardEvent: Sendable, Hashable {
    /// The thread repeats its call until it is claimed.
    case attempted(Attempt)
    /// The call asks nobody, but depends on what is decided already.
    case looked(Attempt)
    /// The call has failed, since the thread cannot be stopped: io_uring makes it, or a debugger traces it.
    case failed(Attempt)
    /// The program opens devices for others: a media service, or the user's permd.
    case passed(Attempt)
    /// An earlier run of permd-guard has stored this, and the process is still there.
    case restored(ProcessImage, user: UInt32, Permission, GuardVerdict, passes: Bool)
    /// A claimed thread waits now. With a signal that came before, it must go on.
    case stopped(thread: Int32, hasSignal: Bool)
    /// The thread has ended, or has gone on by itself.
    case lost(thread: Int32)
    /// The thread cannot be claimed, so its call has failed.
    case unclaimable(thread: Int32)
    /// A stopped thread, or all of a process, get a signal.
    case signalled(pid: Int32, thread: Int32?, interruptsCalls: Bool)
    case exited(ProcessImage)
    /// - Parameter pid: Of the user's permd, which is not asked about itself.
    case registered(user: UInt32, pid: Int32)
    case departed(user: UInt32)
    /// The user's permd has the question.
    case received(user: UInt32, AskID)
    /// The user's permd was not reached, or had no place for the question.
    case notReceived(user: UInt32, AskID)
    case answered(user: UInt32, AskID, GuardAnswer)
    /// What was decided may no longer hold; nil is any permission.
    case recheck(user: UInt32, Permission?)
    case timerFired(GuardTimer)
}

/// How a thread goes on.
package enum Release: Sendable, Hashable {
    /// Its call is made again, and decided by what is stored then.
    case again
    /// Its call fails with EACCES.
    case refused
    /// Its call fails with EINTR, after the signal's handler has run.
    case interrupted
}

package enum GuardTimer: Sendable, Hashable {
    /// Until then a user's permd may come back.
    case permd(user: UInt32)
    /// Until what a user's permd has not received is sent again.
    case resend(user: UInt32)
    /// Until then a thread that was let go for a signal may make its call again.
    case thread(AskID)
}

package enum GuardEffect: Sendable, Hashable {
    /// Makes the thread stop before it makes its call again; `stopped` or `lost` follow.
    case claim(Attempt)
    /// Ends the wait of a thread that is not claimed.
    case dismiss(thread: Int32, Release)
    /// Lets a stopped thread go on.
    case release(thread: Int32, Release)
    /// Nil: it is asked about again.
    case store(ProcessImage, user: UInt32, Permission, GuardVerdict?)
    /// Whether signals for the process are reported.
    case followSignals(pid: Int32, Bool)
    /// Whether the process's end is reported.
    case follow(ProcessImage, Bool)
    case ask(user: UInt32, AskID, ProcessImage, Permission, device: UInt64, waits: Bool)
    case withdraw(user: UInt32, AskID)
    /// As many threads or programs wait as may of this program, of its control group or of the user.
    case limitReached(user: UInt32)
    case startTimer(GuardTimer)
    case stopTimer(GuardTimer)
}
