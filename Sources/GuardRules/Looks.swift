// A call that asks nobody waits until it is known what is decided about its program already.

import PermissionModel

extension GuardTable {
    mutating func looked(_ attempt: Attempt) {
        guard waiters[attempt.thread] == nil else { return }
        if let verdict = programs[attempt.program]?.verdicts[attempt.permission] {
            return effects.append(.dismiss(thread: attempt.thread, verdict == .cut ? .refused : .again))
        }
        // It does not wait for a person.
        let asked = programs[attempt.program]?.asks[attempt.permission]
        if let asked, asks[asked]?.waits == true {
            return effects.append(.dismiss(thread: attempt.thread, .refused))
        }
        guard hasPlace(attempt), remember(attempt.program, of: attempt.user, attempt.group) else {
            effects += [.dismiss(thread: attempt.thread, .refused), .limitReached(user: attempt.user)]
            return
        }
        let id =
            asked
            ?? addAsk(
                Ask(
                    program: attempt.program, permission: attempt.permission, user: attempt.user,
                    device: attempt.device, waits: false))
        wait(attempt, for: id, looks: true)
    }

    /// Nothing is decided.
    mutating func letLookersGo(_ id: AskID) {
        for thread in asks[id]?.threads.sorted() ?? [] where waiters[thread]?.looks == true { letGo(thread, .refused) }
    }
}
