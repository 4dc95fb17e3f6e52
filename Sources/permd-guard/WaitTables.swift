// The threads that wait, in a table for each user (`waits` in bpf/guard.bpf.c): nobody takes the places of others.

import CGuard
import DBus
import Glibc
import GuardRules

@LoopActor
final class WaitTables {
    /// Milliseconds in which a thread that was let go makes its call again: a busy machine may give it no processor for
    /// seconds. If its place is gone by then, it is asked about a second time.
    private static let lingerTime: Int64 = 10_000

    /// The kernel's table of the users' tables, by their descriptors.
    private let users: KernelMap<UInt32, Int32>
    private var tables: [UInt32: KernelMap<UInt32, guard_wait>] = [:]
    /// A thread that never makes its call again, as after a handler that jumps out, keeps no place.
    private var letGo = LetGoThreads()
    private var cleaning: LoopTimer?

    init(_ users: KernelMap<UInt32, Int32>) { self.users = users }

    /// Makes the table of a user, in place of an earlier run's. Returns false, and sets errno, if it cannot be made.
    func make(_ user: UInt32) -> Bool {
        guard tables[user] == nil else { return true }
        let descriptor = bpf_map_create(
            BPF_MAP_TYPE_HASH, "waits_of_user", UInt32(MemoryLayout<UInt32>.size),
            UInt32(MemoryLayout<guard_wait>.size), UInt32(GUARD_WAITS), nil)
        guard descriptor >= 0 else { return false }
        guard users.set(user, descriptor) else {
            let code = errno
            close(descriptor)
            errno = code
            return false
        }
        tables[user] = KernelMap(descriptor: descriptor)
        return true
    }

    /// Says what becomes of a thread that waits. Returns false if it does not wait any more.
    func mark(_ thread: UInt32, _ claim: guard_claim) -> Bool {
        for table in tables.values {
            guard var wait = table[thread] else { continue }
            wait.claim = claim.rawValue
            guard table.set(thread, wait, onlyExisting: true) else { return false }
            if claim != GUARD_CLAIMED { clean(thread) }
            return true
        }
        return false
    }

    /// Its call is decided anew.
    func remove(_ thread: UInt32) { for table in tables.values { table.remove(thread) } }

    private func clean(_ thread: UInt32) {
        letGo.insert(thread)
        cleanLater()
    }

    private func cleanLater() {
        guard cleaning == nil, !letGo.isEmpty else { return }
        cleaning = Loop.shared.after(milliseconds: WaitTables.lingerTime) { [weak self] in self?.cleanAll() }
    }

    private func cleanAll() {
        cleaning = nil
        for thread in letGo.turn() {
            for table in tables.values {
                guard let wait = table[thread], guard_claim(wait.claim) != GUARD_CLAIMED, wait.claim != 0 else {
                    continue
                }
                table.remove(thread)
            }
        }
        cleanLater()
    }
}
