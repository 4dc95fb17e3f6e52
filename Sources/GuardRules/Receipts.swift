// A question is received or sent again: the bus drops a message without an error if its descriptor cannot be passed on.

import PermissionModel

extension GuardTable {
    /// The questions to a permd that may be on their way. The bus passes on 64 descriptors to a program at a time.
    package static let questionsOnTheWay = 32
    /// How often a question is sent before it counts as refused.
    package static let mostSends = 10

    /// Sends a question to the user's permd, or waits for one. What there is no room for is sent when others are received.
    mutating func send(_ id: AskID) {
        guard let ask = asks[id] else { return }
        guard present.contains(ask.user) else {
            if awaited.insert(ask.user).inserted { effects.append(.startTimer(.permd(user: ask.user))) }
            return
        }
        let others = onTheWay[ask.user, default: []]
        guard others.count < GuardTable.questionsOnTheWay else { return }
        if others.isEmpty { effects.append(.startTimer(.receipts(user: ask.user))) }
        onTheWay[ask.user, default: []].insert(id)
        asks[id]?.sends += 1
        effects.append(
            .ask(user: ask.user, id, ask.program, ask.permission, device: ask.device, waits: ask.waits))
    }

    /// Also an answer is a receipt, and what is asked no longer needs none.
    mutating func received(_ user: UInt32, _ id: AskID) {
        guard onTheWay[user]?.remove(id) != nil else { return }
        if onTheWay[user]?.isEmpty == true { awaitNoReceipts(user) }
        sendUnsent(user)
    }

    mutating func awaitNoReceipts(_ user: UInt32) {
        guard onTheWay.removeValue(forKey: user) != nil else { return }
        effects.append(.stopTimer(.receipts(user: user)))
    }

    mutating func receiptsAreMissing(_ user: UInt32) {
        // With what is sent now, the timer starts again.
        for id in (onTheWay.removeValue(forKey: user) ?? []).sorted() {
            guard let ask = asks[id] else { continue }
            if ask.sends < GuardTable.mostSends {
                send(id)
            } else {
                refused(ask)
                finish(id, .refused, withdraws: true)
            }
        }
        sendUnsent(user)
    }

    /// Threads that wait come first.
    private mutating func sendUnsent(_ user: UInt32) {
        let room = GuardTable.questionsOnTheWay - (onTheWay[user]?.count ?? 0)
        guard room > 0, present.contains(user) else { return }
        let unsent = asks.filter { $0.value.user == user && $0.value.sends == 0 }
            .sorted { ($0.value.waits ? 0 : 1, $0.key) < ($1.value.waits ? 0 : 1, $1.key) }
        for (id, _) in unsent.prefix(room) { send(id) }
    }
}
