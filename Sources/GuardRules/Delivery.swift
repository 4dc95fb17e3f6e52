// A question is sent until the permd has it: the bus may have no room for it, or drop its descriptor.

import PermissionModel

extension GuardTable {
    /// The questions to a permd that may be on their way. The bus passes on 64 descriptors to a program at a time, and lets
    /// a program wait for 128 replies.
    package static let questionsOnTheWay = 32
    /// How often a question is sent before it counts as refused.
    package static let mostSends = 10

    /// Sends a question to the user's permd, or waits for one. What there is no room for is sent when others have arrived.
    mutating func send(_ id: AskID) {
        guard let ask = asks[id] else { return }
        guard present[ask.user] != nil else {
            if awaited.insert(ask.user).inserted { effects.append(.startTimer(.permd(user: ask.user))) }
            return
        }
        guard ask.delivery == .unsent, onTheWay[ask.user, default: []].count < GuardTable.questionsOnTheWay else {
            return
        }
        onTheWay[ask.user, default: []].insert(id)
        asks[id]?.delivery = .onTheWay
        asks[id]?.sends += 1
        effects.append(
            .ask(user: ask.user, id, ask.program, ask.permission, device: ask.device, waits: ask.waits))
    }

    mutating func received(_ user: UInt32, _ id: AskID) {
        if let ask = asks[id], ask.user == user, ask.sends > 0 { asks[id]?.delivery = .received }
        arrived(user, id)
    }

    /// It may have arrived, or its answer may have come already.
    mutating func notReceived(_ user: UInt32, _ id: AskID) {
        guard let ask = asks[id], ask.user == user, ask.delivery == .onTheWay else { return }
        if ask.sends < GuardTable.mostSends {
            asks[id]?.delivery = .failed
            if resending.insert(user).inserted { effects.append(.startTimer(.resend(user: user))) }
            arrived(user, id)
        } else {
            refused(ask)
            finish(id, .refused, withdraws: true)
        }
    }

    /// There is room for another question.
    mutating func arrived(_ user: UInt32, _ id: AskID) {
        guard onTheWay[user]?.remove(id) != nil else { return }
        sendUnsent(user)
    }

    mutating func resend(_ user: UInt32) {
        resending.remove(user)
        for (id, ask) in asks where ask.user == user && ask.delivery == .failed { asks[id]?.delivery = .unsent }
        sendUnsent(user)
    }

    mutating func stopResending(_ user: UInt32) {
        if resending.remove(user) != nil { effects.append(.stopTimer(.resend(user: user))) }
    }

    /// Threads that wait come first.
    private mutating func sendUnsent(_ user: UInt32) {
        let room = GuardTable.questionsOnTheWay - (onTheWay[user]?.count ?? 0)
        guard room > 0, present[user] != nil else { return }
        let unsent = asks.filter { $0.value.user == user && $0.value.delivery == .unsent }
            .sorted { ($0.value.waits ? 0 : 1, $0.key) < ($1.value.waits ? 0 : 1, $1.key) }
        for (id, _) in unsent.prefix(room) { send(id) }
    }
}
