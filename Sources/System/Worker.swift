// Runs what may block on threads beside the loop: jobs get values and return values, and never touch state.
//
// Jobs start in the order in which they were added. Usually one thread is enough. A job that takes longer than
// `patience` holds up only later jobs about the same subject; the others go on in another thread. A job that is over its
// deadline has failed. Its thread may be stuck in the kernel for ever, so the number of threads is bounded.
//
// A job that is refused, because too many wait, still fails after the earlier ones about its subject are complete.

package import DBus
import Synchronization

@LoopActor
package final class Worker {
    /// The most threads: all but one may be stuck in file systems that hang.
    package nonisolated static let maximumThreads = 16
    /// The most of them for one that shares them: a program that hangs in many places keeps others from none.
    package nonisolated static let share = 4
    /// Milliseconds after which other jobs no longer wait for a running one. Most jobs take less than one.
    package nonisolated static let patience: Int64 = 50
    /// Milliseconds from adding a job to its failure, if no other time is given. A sleeping disk needs seconds to answer.
    package nonisolated static let deadline: Int64 = 5000
    /// The most jobs that wait. Whoever can add more of them than this is a flood.
    package nonisolated static let maximumWaiting = 4096

    /// Set by the thread of a job that has returned. The loop hears of that when it comes to it, and after a suspension not
    /// before the deadline.
    private final class ReturnFlag: Sendable {
        let isSet = Atomic(false)
    }

    private final class Job {
        let id: UInt64
        let subject: String
        let sharer: String?
        let start: @LoopActor (ReturnFlag) -> Bool
        let fail: @LoopActor () -> Void
        let returned = ReturnFlag()
        var expiry: LoopTimer?
        /// Runs while other jobs wait for this one.
        var handover: LoopTimer?
        var isOverdue = false
        /// Whether it fails in its turn, without being run.
        var isRefused = false

        init(
            id: UInt64, subject: String, sharer: String?, start: @escaping @LoopActor (ReturnFlag) -> Bool,
            fail: @escaping @LoopActor () -> Void
        ) {
            (self.id, self.subject, self.sharer, self.start, self.fail) = (id, subject, sharer, start, fail)
        }
    }

    private let threads: Int
    private let patience: Int64
    private var waiting: [Job] = []
    private var running: [Job] = []
    private var refused = 0
    private var lastID: UInt64 = 0

    /// - Parameters:
    ///   - threads: With 1, no job starts before the one before it has returned.
    ///   - patience: Milliseconds.
    package init(threads: Int = Worker.maximumThreads, patience: Int64 = Worker.patience) {
        (self.threads, self.patience) = (threads, patience)
    }

    /// The threads whose jobs are over their deadlines.
    package var stuckThreads: Int { running.count(where: \.isOverdue) }

    /// Runs `job` on a thread, then `completion` on the loop in a later turn, with what the job returned, or with nil
    /// after `deadline` milliseconds. What a job returns after that is dropped.
    ///
    /// - Parameters:
    ///   - subject: What the job depends on that may hang. Two jobs about one subject never run at the same time, and
    ///     while one is stuck, all others about its subject fail at once.
    ///   - sharer: For whom it runs, if for somebody who may make jobs hang: they take a share of the threads.
    package func run<Value: Sendable>(
        about subject: String, for sharer: String? = nil, deadline: Int64 = Worker.deadline,
        _ job: @escaping @Sendable () -> Value,
        then completion: @escaping @LoopActor (Value?) -> Void
    ) {
        lastID += 1
        let id = lastID
        let entry = Job(
            id: id, subject: subject, sharer: sharer,
            start: { [weak self] returned in
                runDetached {
                    let value = job()
                    returned.isSet.store(true, ordering: .releasing)
                    Loop.shared.post { if self?.ended(id) ?? false { completion(value) } }
                } == 0
            }, fail: { completion(nil) })
        // What waited for a thread that is stuck has failed before.
        let isHanging = running.contains { $0.isOverdue && $0.subject == subject }
        guard !isHanging, !isStuck(sharer) else { return Loop.shared.later(entry.fail) }
        waiting.append(entry)
        guard waiting.count - refused <= Worker.maximumWaiting else {
            entry.isRefused = true
            refused += 1
            return failRefused(about: subject)
        }
        entry.expiry = Loop.shared.after(milliseconds: deadline) { [weak self] in self?.expired(entry) }
        startNext()
    }

    /// Whether nothing can run for somebody.
    private func isStuck(_ sharer: String?) -> Bool {
        isShareTaken(sharer) { $0.isOverdue } || stuckThreads == threads
    }

    /// Whether jobs that `counts` accepts have all the threads that somebody may have.
    private func isShareTaken(_ sharer: String?, by counts: (Job) -> Bool = { _ in true }) -> Bool {
        sharer != nil && running.count { $0.sharer == sharer && counts($0) } >= Worker.share
    }

    /// Fails the refused jobs about a subject whose turn it is.
    private func failRefused(about subject: String) {
        guard refused > 0, !running.contains(where: { $0.subject == subject }) else { return }
        while let index = waiting.firstIndex(where: { $0.subject == subject }), waiting[index].isRefused {
            refused -= 1
            Loop.shared.later(waiting.remove(at: index).fail)
        }
    }

    private func startNext() {
        while running.count < threads, running.allSatisfy({ $0.handover == nil }),
            let index = waiting.firstIndex(where: { next in
                !next.isRefused && !isShareTaken(next.sharer) && !running.contains { $0.subject == next.subject }
            })
        {
            let job = waiting.remove(at: index)
            guard job.start(job.returned) else {
                job.expiry?.cancel()
                Loop.shared.later(job.fail)
                failRefused(about: job.subject)
                continue
            }
            running.append(job)
            job.handover = Loop.shared.after(milliseconds: patience) { [weak self] in
                job.handover = nil
                self?.startNext()
            }
        }
    }

    /// A job has returned. Returns whether it was in time.
    private func ended(_ id: UInt64) -> Bool {
        guard let index = running.firstIndex(where: { $0.id == id }) else { return false }
        let job = running.remove(at: index)
        job.handover?.cancel()
        job.expiry?.cancel()
        failRefused(about: job.subject)
        startNext()
        return !job.isOverdue
    }

    private func expired(_ job: Job) {
        if let index = waiting.firstIndex(where: { $0 === job }) {
            waiting.remove(at: index)
            job.fail()
            return failRefused(about: job.subject)
        }
        guard !job.returned.isSet.load(ordering: .acquiring) else { return }
        job.isOverdue = true
        let hopeless = waiting.filter { $0.subject == job.subject || isStuck($0.sharer) }
        waiting.removeAll { next in hopeless.contains { $0 === next } }
        refused -= hopeless.count(where: \.isRefused)
        job.fail()
        for next in hopeless {
            next.expiry?.cancel()
            next.fail()
        }
    }
}
