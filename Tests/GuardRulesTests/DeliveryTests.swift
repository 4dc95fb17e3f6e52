// What is asked is received or asked again, as tables of events and effects.

import PermissionModel
import Testing

@testable import GuardRules

private let user: UInt32 = 1000
private let timer = GuardTimer.resend(user: user)
private let registration = GuardEvent.registered(user: user, pid: 99)

private func program(_ number: Int) -> ProcessImage { ProcessImage(pid: Int32(100 + number), start: 1, exec: 1) }

private func attempt(_ number: Int) -> Attempt {
    Attempt(
        program: program(number), thread: Int32(100 + number), user: user, group: UInt64(number), permission: .camera,
        device: 7)
}

extension GuardEffect {
    fileprivate var asked: AskID? { if case .ask(_, let id, _, _, _, _) = self { id } else { nil } }
}

struct DeliveryTests {
    /// A table whose user's permd is there, with a thread of each program that waits, and what it did for that.
    private func table(programs: Int) -> (GuardTable, [GuardEffect]) {
        var table = GuardTable()
        _ = table.handle(registration)
        var effects: [GuardEffect] = []
        for number in 0..<programs {
            effects += table.handle(.attempted(attempt(number)))
            effects += table.handle(.stopped(thread: attempt(number).thread, hasSignal: false))
        }
        return (table, effects)
    }

    @Test func whatIsNotReceivedIsAskedAgain() {
        var (table, effects) = table(programs: 3)
        #expect(effects.compactMap(\.asked) == [1, 2, 3])
        #expect(table.handle(.received(user: user, 2)) == [])
        // Another permd does not speak for this user's.
        #expect(table.handle(.notReceived(user: 1001, 1)) == [])
        #expect(table.handle(.notReceived(user: user, 1)) == [.startTimer(timer)])
        #expect(table.handle(.notReceived(user: user, 3)) == [])
        effects = table.handle(.timerFired(timer))
        #expect(effects.compactMap(\.asked) == [1, 3])
        #expect(table.handle(.received(user: user, 1)) == [])
        // What was answered, or is received, is not asked again.
        #expect(table.handle(.notReceived(user: user, 1)) == [])
        #expect(table.handle(.timerFired(timer)) == [])
    }

    /// It can have been received although nothing was heard of that, so that permd asks about it again.
    @Test(arguments: [false, true])
    func anAnswerIsAReceipt(isSentTwice: Bool) {
        var (table, _) = table(programs: 1)
        let again: [GuardEvent] = [.notReceived(user: user, 1), .timerFired(timer)]
        if isSentTwice { for event in again { _ = table.handle(event) } }
        let effects = table.handle(.answered(user: user, 1, .undecided))
        #expect(effects.contains(.release(thread: 100, .refused)))
        #expect(effects.contains(.withdraw(user: user, 1)) == isSentTwice)
        #expect(table.handle(.notReceived(user: user, 1)) == [])
    }

    @Test func whatIsNeverReceivedIsRefused() {
        var (table, _) = table(programs: 1)
        for _ in 1..<GuardTable.mostSends {
            #expect(table.handle(.notReceived(user: user, 1)) == [.startTimer(timer)])
            #expect(table.handle(.timerFired(timer)).compactMap(\.asked) == [1])
        }
        #expect(
            table.handle(.notReceived(user: user, 1)) == [
                .release(thread: 100, .refused), .followSignals(pid: 100, false), .withdraw(user: user, 1),
            ])
        #expect(table.waitingThreads == 0)
    }

    /// A grant that cannot be checked goes on no longer.
    @Test func aCheckThatIsNeverReceivedCuts() {
        var (table, _) = table(programs: 1)
        _ = table.handle(.answered(user: user, 1, .granted))
        _ = table.handle(.recheck(user: user, .camera))
        for _ in 1..<GuardTable.mostSends {
            _ = table.handle(.notReceived(user: user, 2))
            _ = table.handle(.timerFired(timer))
        }
        #expect(table.handle(.notReceived(user: user, 2)).contains(.store(program(0), user: user, .camera, .cut)))
    }

    /// The bus passes on a limited number of descriptors at a time. Threads that wait are asked about first.
    @Test func onlySomeAreOnTheWay() {
        let most = GuardTable.questionsOnTheWay
        var (table, effects) = table(programs: most + 2)
        #expect(effects.compactMap(\.asked) == (1...most).map(AskID.init))
        #expect(table.handle(.received(user: user, 5)).compactMap(\.asked) == [AskID(most + 1)])
        #expect(table.handle(.answered(user: user, 6, .granted)).compactMap(\.asked) == [AskID(most + 2)])
        #expect(table.handle(.recheck(user: user, .camera)).compactMap(\.asked) == [])
        #expect(table.handle(.attempted(attempt(most + 9))).compactMap(\.asked) == [])
        #expect(table.handle(.received(user: user, 7)).compactMap(\.asked) == [AskID(most + 4)])
        #expect(table.handle(.received(user: user, 8)).compactMap(\.asked) == [AskID(most + 3)])
    }

    /// What could not be delivered does not keep the rest from being asked.
    @Test func whatFailsMakesRoom() {
        let most = GuardTable.questionsOnTheWay
        var (table, _) = table(programs: most + 1)
        let effects = table.handle(.notReceived(user: user, 1))
        #expect(effects.first == .startTimer(timer) && effects.compactMap(\.asked) == [AskID(most + 1)])
        #expect(table.handle(.timerFired(timer)) == [])
        #expect(table.handle(.received(user: user, 2)).compactMap(\.asked) == [1])
    }

    @Test func theNextPermdIsAskedAnew() {
        var (table, _) = table(programs: 2)
        _ = table.handle(.received(user: user, 1))
        _ = table.handle(.notReceived(user: user, 2))
        #expect(table.handle(.departed(user: user)) == [.stopTimer(timer), .startTimer(.permd(user: user))])
        #expect(table.handle(registration).compactMap(\.asked) == [1, 2])
    }
}
