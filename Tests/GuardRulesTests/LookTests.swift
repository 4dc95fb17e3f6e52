// A call that asks nobody waits for what is decided, and never for a person; as tables of events and effects.

import PermissionModel
import Testing

@testable import GuardRules

private let user: UInt32 = 1000
private let program = ProcessImage(pid: 100, start: 1, exec: 0)

private func attempt(_ thread: Int32) -> Attempt {
    Attempt(program: program, thread: thread, user: user, group: 1, permission: .bluetooth, device: 0)
}

extension GuardEffect {
    fileprivate var asked: (id: AskID, waits: Bool)? {
        if case .ask(_, let id, _, _, _, let waits) = self { (id, waits) } else { nil }
    }
}

struct LookTests {
    /// A table whose user's permd is there.
    private func table() -> GuardTable {
        var table = GuardTable()
        _ = table.handle(.registered(user: user, pid: 99))
        return table
    }

    /// The effects of events; what waits stops at once, as a call does.
    private func effects(_ table: inout GuardTable, _ events: GuardEvent...) -> [GuardEffect] {
        var all: [GuardEffect] = []
        for event in events {
            for effect in table.handle(event) {
                all.append(effect)
                if case .claim(let attempt) = effect {
                    all += table.handle(.stopped(thread: attempt.thread, hasSignal: false))
                }
            }
        }
        return all
    }

    @Test(arguments: [
        (GuardAnswer.granted, GuardVerdict.grant as GuardVerdict?, Release.again), (.denied, .deny, .again),
        (.undecided, nil, .refused),
    ])
    func aLookAsksNobody(answer: GuardAnswer, verdict: GuardVerdict?, release: Release) {
        var table = table()
        let asked = effects(&table, .looked(attempt(1))).compactMap(\.asked)
        #expect(asked.count == 1 && asked[0].waits == false)
        let answered = effects(&table, .answered(user: user, asked[0].id, answer))
        #expect(answered.contains(.release(thread: 1, release)))
        #expect(answered.compactMap(\.asked).isEmpty && table.waitingThreads == 0)
        #expect(
            answered.contains(.store(program, user: user, .bluetooth, verdict ?? .cut)) == (verdict != nil))
        // What is decided now needs no further question.
        if verdict != nil { #expect(effects(&table, .looked(attempt(2))) == [.dismiss(thread: 2, .again)]) }
    }

    /// A call that waits for a person does so after the look has ended, and no look waits with it.
    @Test func aPersonIsAskedAfterALook() {
        var table = table()
        let look = effects(&table, .looked(attempt(1)), .attempted(attempt(2))).compactMap(\.asked)
        #expect(look.map(\.waits) == [false])
        let undecided = effects(&table, .answered(user: user, look[0].id, .undecided))
        #expect(undecided.contains(.release(thread: 1, .refused)))
        let question = undecided.compactMap(\.asked)
        #expect(question.map(\.waits) == [true] && table.waitingThreads == 1)
        #expect(effects(&table, .looked(attempt(3))) == [.dismiss(thread: 3, .refused)])
        #expect(effects(&table, .answered(user: user, question[0].id, .granted)).contains(.release(thread: 2, .again)))
    }

    @Test func aLookWithoutAPermdEnds() {
        var table = GuardTable()
        #expect(effects(&table, .looked(attempt(1))).contains(.startTimer(.permd(user: user))))
        let ended = effects(&table, .timerFired(.permd(user: user)))
        #expect(ended.contains(.release(thread: 1, .refused)) && table.waitingThreads == 0)
    }

    /// A grant that was taken back is not seen through.
    @Test func aCutIsNoGrant() {
        var table = table()
        let question = effects(&table, .attempted(attempt(1))).compactMap(\.asked)
        _ = effects(&table, .answered(user: user, question[0].id, .granted))
        let check = effects(&table, .recheck(user: user, .bluetooth)).compactMap(\.asked)
        _ = effects(&table, .answered(user: user, check[0].id, .undecided))
        #expect(effects(&table, .looked(attempt(2))) == [.dismiss(thread: 2, .refused)])
    }
}
