// What is asked is received or asked again, as tables of events and effects.

import PermissionModel
import Testing

@testable import GuardRules

private let user: UInt32 = 1000
private let timer = GuardTimer.receipts(user: user)

private func program(_ number: Int) -> ProcessImage { ProcessImage(pid: Int32(100 + number), start: 1, exec: 1) }

extension GuardEffect {
    fileprivate var asked: AskID? { if case .ask(_, let id, _, _, _, _) = self { id } else { nil } }

    fileprivate var isOfReceipts: Bool {
        switch self {
        case .startTimer(let started): started == timer
        case .stopTimer(let stopped): stopped == timer
        default: false
        }
    }
}

struct ReceiptsTests {
    /// A table whose user's permd is there, with a thread of each program that waits, and what it did for that.
    private func table(programs: Int) -> (GuardTable, [GuardEffect]) {
        var table = GuardTable()
        _ = table.handle(.registered(user: user))
        var effects: [GuardEffect] = []
        for number in 0..<programs {
            let attempt = Attempt(
                program: program(number), thread: Int32(100 + number), user: user, permission: .camera, device: 7)
            effects += table.handle(.attempted(attempt))
            effects += table.handle(.stopped(thread: attempt.thread, hasSignal: false))
        }
        return (table, effects)
    }

    @Test func whatIsNotReceivedIsAskedAgain() {
        var (table, effects) = table(programs: 3)
        #expect(effects.compactMap(\.asked) == [1, 2, 3])
        #expect(effects.filter(\.isOfReceipts) == [.startTimer(timer)])
        #expect(table.handle(.received(user: user, 2)) == [])
        effects = table.handle(.timerFired(timer))
        #expect(effects.compactMap(\.asked) == [1, 3])
        #expect(effects.filter(\.isOfReceipts) == [.startTimer(timer)])
        // Another permd does not speak for this user's.
        #expect(table.handle(.received(user: 1001, 1)) == [])
        #expect(table.handle(.received(user: user, 1)) == [])
        #expect(table.handle(.received(user: user, 3)) == [.stopTimer(timer)])
    }

    /// It can have been received twice then, so that permd asks about it again.
    @Test(arguments: [false, true])
    func anAnswerIsAReceipt(isSentTwice: Bool) {
        var (table, _) = table(programs: 1)
        if isSentTwice { _ = table.handle(.timerFired(timer)) }
        let effects = table.handle(.answered(user: user, 1, .undecided))
        #expect(effects.contains(.release(thread: 100, .refused)) && effects.contains(.stopTimer(timer)))
        #expect(effects.contains(.withdraw(user: user, 1)) == isSentTwice)
        #expect(table.handle(.timerFired(timer)) == [])
    }

    @Test func whatIsNeverReceivedIsRefused() {
        var (table, _) = table(programs: 1)
        for _ in 1..<GuardTable.mostSends {
            #expect(table.handle(.timerFired(timer)).compactMap(\.asked) == [1])
        }
        #expect(
            table.handle(.timerFired(timer)) == [
                .release(thread: 100, .refused), .followSignals(pid: 100, false), .withdraw(user: user, 1),
            ])
        #expect(table.waitingThreads == 0)
    }

    /// A grant that cannot be checked goes on no longer.
    @Test func aCheckThatIsNeverReceivedCuts() {
        var (table, _) = table(programs: 1)
        _ = table.handle(.answered(user: user, 1, .granted))
        _ = table.handle(.recheck(user: user, .camera))
        for _ in 1..<GuardTable.mostSends { _ = table.handle(.timerFired(timer)) }
        #expect(table.handle(.timerFired(timer)).contains(.store(program(0), user: user, .camera, .cut)))
    }

    /// The bus passes on a limited number of descriptors at a time. Threads that wait are asked about first.
    @Test func onlySomeAreOnTheWay() {
        let most = GuardTable.questionsOnTheWay
        var (table, effects) = table(programs: most + 2)
        #expect(effects.compactMap(\.asked) == (1...most).map(AskID.init))
        #expect(table.handle(.received(user: user, 5)).compactMap(\.asked) == [AskID(most + 1)])
        #expect(table.handle(.answered(user: user, 6, .granted)).compactMap(\.asked) == [AskID(most + 2)])
        #expect(table.handle(.recheck(user: user, .camera)).compactMap(\.asked) == [])
        let late = Attempt(program: program(most + 9), thread: 99, user: user, permission: .camera, device: 7)
        #expect(table.handle(.attempted(late)).compactMap(\.asked) == [])
        #expect(table.handle(.received(user: user, 7)).compactMap(\.asked) == [AskID(most + 4)])
        #expect(table.handle(.received(user: user, 8)).compactMap(\.asked) == [AskID(most + 3)])
    }

    @Test func theNextPermdIsAskedAnew() {
        var (table, _) = table(programs: 2)
        _ = table.handle(.received(user: user, 1))
        #expect(table.handle(.departed(user: user)) == [.stopTimer(timer), .startTimer(.permd(user: user))])
        #expect(table.handle(.registered(user: user)).compactMap(\.asked) == [1, 2])
    }
}
