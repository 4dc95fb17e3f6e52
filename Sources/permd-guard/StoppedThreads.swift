// Threads that wait for an answer: stopped as a debugger stops them, which no shell, parent or debugger notices.

import CGuard
import DBus
import Glibc
import ProcessIdentity
import System

@LoopActor
final class StoppedThreads {
    private let waits: WaitTables
    /// The signals that threads were about to get when they stopped.
    private var signals: [Int32: Int32] = [:]

    init(waits: WaitTables) { self.waits = waits }

    /// Why a thread is not stopped.
    enum Refusal: Error, Equatable {
        /// errno of ptrace(2): it has exited, or is traced already, or the kernel forbids tracing. EBUSY: another thread of
        /// its process loads a program.
        case failed(Int32)
        /// Its call has failed already; it stops and must be let go.
        case late
    }

    func claim(_ thread: Int32) throws(Refusal) {
        guard cguard_claim(thread) == 0 else {
            let code = errno
            dismiss(thread, GUARD_GIVEN_UP)
            throw .failed(code)
        }
        guard mark(thread, GUARD_CLAIMED) else { throw .late }
    }

    /// Lets a thread go on that is not stopped.
    func dismiss(_ thread: Int32, _ claim: guard_claim?) {
        if let claim { mark(thread, claim) } else { waits.remove(UInt32(bitPattern: thread)) }
    }

    /// Lets a stopped thread go on, with the signal that it was about to get.
    func release(_ thread: Int32, _ claim: guard_claim?) {
        dismiss(thread, claim)
        // It may have been killed meanwhile.
        _ = cguard_detach(thread, signals.removeValue(forKey: thread) ?? 0)
    }

    @discardableResult
    private func mark(_ thread: Int32, _ claim: guard_claim) -> Bool {
        waits.mark(UInt32(bitPattern: thread), claim)
    }

    /// Reports each thread whose state has changed: whether it has stopped; otherwise it has ended.
    func changes(_ body: @LoopActor (_ thread: Int32, _ isStopped: Bool) -> Void) {
        var status: Int32 = 0
        while case let thread = cguard_changed(&status), thread > 0 {
            let isStopped = cguard_has_stopped(status) != 0
            let signal = isStopped ? cguard_signal(status) : 0
            // Between the two steps of its claim, it was about to get one, as that by which it repeats its call.
            signals[thread] = signal == 0 ? nil : signal
            body(thread, isStopped)
        }
    }

    /// Whether a stopped thread gets a signal when it goes on, of which nothing else reports.
    func hasSignal(_ thread: Int32) -> Bool {
        if signals[thread] != nil { return true }
        guard let text = try? RegularFile.read("/proc/\(thread)/status", maximum: 64 << 10) else { return false }
        var masks: [String: UInt64] = [:]
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, parts[0].hasPrefix("Sig") || parts[0] == "ShdPnd" else { continue }
            masks[String(parts[0])] = UInt64(parts[1].drop { $0 == "\t" || $0 == " " }, radix: 16)
        }
        let pending = (masks["SigPnd"] ?? 0) | (masks["ShdPnd"] ?? 0)
        // Those by which it repeated its call.
        let own = bit(SIGSTOP) | bit(SIGCONT)
        let ignored = (bit(SIGCHLD) | bit(SIGURG) | bit(SIGWINCH)) & ~(masks["SigCgt"] ?? 0) | (masks["SigIgn"] ?? 0)
        return pending & ~(masks["SigBlk"] ?? 0) & ~own & ~ignored != 0
    }

    private func bit(_ signal: Int32) -> UInt64 { 1 << UInt64(signal - 1) }
}
