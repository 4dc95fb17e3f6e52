// What a user's permd may ask for, and what follows when it comes or goes.

import PermissionModel

extension GuardTable {
    mutating func recheck(_ user: UInt32, _ permission: Permission?) {
        guard present[user] != nil else { return }
        for (program, known) in programs.sorted(by: { $0.value.order < $1.value.order })
        where known.user == user && !known.passes {
            // What is asked is answered by what is true then.
            for decided in known.verdicts.keys.sorted()
            where (permission == nil || decided == permission) && known.asks[decided] == nil {
                _ = addAsk(Ask(program: program, permission: decided, user: user, device: 0, waits: false))
            }
        }
    }

    mutating func registered(_ user: UInt32, _ pid: Int32) {
        present[user] = pid
        if awaited.remove(user) != nil { effects.append(.stopTimer(.permd(user: user))) }
        for (program, known) in programs where known.user == user && program.pid == pid {
            programs[program]?.passes = true
            for (permission, id) in known.asks.sorted(by: { $0.value < $1.value }) {
                store(program, permission, .grant)
                finish(id, .again)
            }
        }
        for (id, ask) in asks.sorted(by: { $0.key < $1.key }) where ask.user == user { send(id) }
        recheck(user, nil)
    }

    mutating func departed(_ user: UInt32) {
        guard let pid = present.removeValue(forKey: user) else { return }
        // If it goes on, it is a program as others are.
        for (program, known) in programs where known.user == user && program.pid == pid {
            for id in known.asks.values.sorted() { finish(id, .refused) }
            drop(program)
        }
        onTheWay[user] = nil
        stopResending(user)
        for (id, ask) in asks.sorted(by: { $0.key < $1.key }) where ask.user == user {
            asks[id]?.sends = 0
            asks[id]?.delivery = .unsent
            // What was decided goes on. The next permd is asked about all of it.
            if ask.waits || !ask.threads.isEmpty { send(id) } else { end(id, withdraws: false) }
        }
    }

    mutating func permdIsMissing(_ user: UInt32) {
        awaited.remove(user)
        for (id, ask) in asks.sorted(by: { $0.key < $1.key }) where ask.user == user { finish(id, .refused) }
    }
}
