// The rules of who waits and what is stored, as tables of events and effects.

import PermissionModel
import Testing

@testable import GuardRules

private let user: UInt32 = 1000
private let program = ProcessImage(pid: 10, start: 1, exec: 1)
private let other = ProcessImage(pid: 20, start: 2, exec: 1)

private func attempt(
    _ thread: Int32, _ program: ProcessImage = program, _ permission: Permission = .camera, user: UInt32 = user,
    group: UInt64 = 1
) -> Attempt {
    Attempt(program: program, thread: thread, user: user, group: group, permission: permission, device: 7)
}

private let permd: Int32 = 500
private let registration = GuardEvent.registered(user: user, pid: permd)

private func ask(_ id: AskID, _ program: ProcessImage = program, device: UInt64 = 7, waits: Bool = true)
    -> GuardEffect
{
    .ask(user: user, id, program, .camera, device: device, waits: waits)
}

/// A table whose user's permd is there, and what it did since.
private struct Stage {
    var table = GuardTable()

    init(hasPermd: Bool = true) { if hasPermd { _ = table.handle(registration) } }

    /// What the events cause.
    mutating func on(_ events: GuardEvent...) -> [GuardEffect] { events.flatMap { table.handle($0) } }

    /// A thread that waits.
    mutating func hold(_ thread: Int32, _ program: ProcessImage = program, group: UInt64 = 1) {
        _ = on(.attempted(attempt(thread, program, group: group)), .stopped(thread: thread, hasSignal: false))
    }
}

struct GuardTableTests {
    @Test
    func aThreadIsClaimedAndAskedAbout() {
        var stage = Stage()
        #expect(
            stage.on(.attempted(attempt(11)), .stopped(thread: 11, hasSignal: false)) == [
                .follow(program, true), ask(1), .followSignals(pid: 10, true), .claim(attempt(11)),
            ])
        #expect(stage.table.waitingThreads == 1)
    }

    @Test(arguments: [
        (GuardAnswer.granted, [GuardEffect.store(program, user: user, .camera, .grant)], Release.again),
        (.denied, [.store(program, user: user, .camera, .deny)], .again),
        (.undecided, [], .refused),
    ])
    func anAnswerLetsTheThreadGo(answer: GuardAnswer, stored: [GuardEffect], release: Release) {
        var stage = Stage()
        stage.hold(11)
        #expect(
            stage.on(.answered(user: user, 1, answer)) == stored + [
                .release(thread: 11, release), .followSignals(pid: 10, false),
            ])
        #expect(stage.table.waitingThreads == 0)
    }

    @Test
    func threadsOfOneProgramAreAskedAboutOnce() {
        var stage = Stage()
        stage.hold(11)
        #expect(stage.on(.attempted(attempt(12))) == [.claim(attempt(12))])
        #expect(
            stage.on(.answered(user: user, 1, .granted)) == [
                .store(program, user: user, .camera, .grant), .release(thread: 11, .again),
            ])
        // The other has not stopped yet.
        #expect(
            stage.on(.stopped(thread: 12, hasSignal: false)) == [
                .release(thread: 12, .again), .followSignals(pid: 10, false),
            ])
    }

    @Test
    func anotherExecIsAskedAboutAgain() {
        var stage = Stage()
        stage.hold(11)
        _ = stage.on(.answered(user: user, 1, .granted))
        let next = ProcessImage(pid: 10, start: 1, exec: 2)
        #expect(stage.on(.attempted(attempt(11, next))).contains(ask(2, next)))
    }

    @Test
    func whatCannotBeHeldIsAskedAboutButHasFailed() {
        var stage = Stage()
        #expect(stage.on(.failed(attempt(11))) == [.follow(program, true), ask(1)])
        #expect(stage.on(.answered(user: user, 1, .granted)) == [.store(program, user: user, .camera, .grant)])
    }

    @Test
    func aPartOfTheSessionPassesAndIsNotAskedAboutLater() {
        var stage = Stage()
        #expect(
            stage.on(.passed(attempt(11))) == [
                .dismiss(thread: 11, .again), .follow(program, true), .store(program, user: user, .camera, .grant),
            ])
        #expect(stage.on(.recheck(user: user, nil)) == [])
    }

    // MARK: Signals

    @Test
    func aSignalLetsTheThreadGoAndWithdrawsIfItDoesNotComeBack() {
        var stage = Stage()
        stage.hold(11)
        #expect(
            stage.on(.signalled(pid: 10, thread: nil, interruptsCalls: true)) == [
                .release(thread: 11, .interrupted), .followSignals(pid: 10, false), .startTimer(.thread(1)),
            ])
        #expect(stage.on(.timerFired(.thread(1))) == [.withdraw(user: user, 1)])
    }

    @Test
    func aThreadThatComesBackAfterASignalKeepsItsPlace() {
        var stage = Stage()
        stage.hold(11)
        _ = stage.on(.signalled(pid: 10, thread: 11, interruptsCalls: false))
        #expect(
            stage.on(.attempted(attempt(11))) == [
                .stopTimer(.thread(1)), .followSignals(pid: 10, true), .claim(attempt(11)),
            ])
    }

    @Test
    func aSignalThatCameBeforeTheClaimLetsTheThreadGo() {
        var stage = Stage()
        _ = stage.on(.attempted(attempt(11)))
        #expect(
            stage.on(.stopped(thread: 11, hasSignal: true)) == [
                .release(thread: 11, .again), .followSignals(pid: 10, false), .startTimer(.thread(1)),
            ])
    }

    @Test
    func aSignalForOneThreadLeavesTheOthers() {
        var stage = Stage()
        stage.hold(11)
        stage.hold(12)
        #expect(
            stage.on(.signalled(pid: 10, thread: 12, interruptsCalls: false)) == [.release(thread: 12, .again)])
    }

    @Test(arguments: [GuardEvent.exited(program), .lost(thread: 11)])
    func theEndOfWhoWaitsWithdraws(event: GuardEvent) {
        var stage = Stage()
        stage.hold(11)
        #expect(stage.on(event).contains(.withdraw(user: user, 1)))
        #expect(stage.table.waitingThreads == 0)
    }

    @Test
    func aThreadThatCannotBeClaimedIsAskedAboutNevertheless() {
        var stage = Stage()
        _ = stage.on(.attempted(attempt(11)))
        #expect(stage.on(.unclaimable(thread: 11)) == [.followSignals(pid: 10, false)])
        #expect(
            stage.on(.answered(user: user, 1, .granted)) == [.store(program, user: user, .camera, .grant)])
    }

    // MARK: What changes

    @Test(arguments: [
        (GuardAnswer.granted, [GuardEffect]()),
        (.denied, [.store(program, user: user, .camera, .deny)]),
        (.undecided, [.store(program, user: user, .camera, .cut)]),
    ])
    func aGrantIsCheckedAgain(answer: GuardAnswer, effects: [GuardEffect]) {
        var stage = Stage()
        stage.hold(11)
        _ = stage.on(.answered(user: user, 1, .granted))
        #expect(stage.on(.recheck(user: user, .microphone)) == [])
        #expect(stage.on(.recheck(user: user, .camera)) == [ask(2, device: 0, waits: false)])
        #expect(stage.on(.answered(user: user, 2, answer)) == effects)
    }

    @Test
    func aDenialThatWasTakenBackIsAskedAbout() {
        var stage = Stage()
        stage.hold(11)
        _ = stage.on(.answered(user: user, 1, .denied), .recheck(user: user, nil))
        #expect(stage.on(.answered(user: user, 2, .undecided)) == [.store(program, user: user, .camera, nil)])
        #expect(stage.on(.attempted(attempt(11))).contains(ask(3)))
    }

    /// permd answers by what is true when it answers, however often something changes meanwhile.
    @Test
    func whatChangesDuringACheckIsAskedOnce() {
        var stage = Stage()
        stage.hold(11)
        _ = stage.on(.answered(user: user, 1, .granted), .recheck(user: user, nil))
        for _ in 0..<1000 { #expect(stage.on(.recheck(user: user, .camera)) == []) }
        #expect(stage.on(.answered(user: user, 2, .denied)) == [.store(program, user: user, .camera, .deny)])
        #expect(stage.on(.recheck(user: user, .camera)) == [ask(3, device: 0, waits: false)])
    }

    @Test
    func aThreadThatBeginsToWaitDuringACheckIsAskedAbout() {
        var stage = Stage()
        stage.hold(11)
        _ = stage.on(.answered(user: user, 1, .granted), .recheck(user: user, nil))
        _ = stage.on(.answered(user: user, 2, .undecided))
        // What was cut is asked about when it begins anew; meanwhile its decision changes.
        _ = stage.on(.recheck(user: user, nil), .attempted(attempt(11)), .stopped(thread: 11, hasSignal: false))
        #expect(stage.on(.answered(user: user, 3, .undecided)) == [ask(4, device: 0)])
        #expect(stage.on(.answered(user: user, 4, .granted)).contains(.release(thread: 11, .again)))
    }

    // MARK: permd

    @Test
    func aPermdThatIsAwayIsWaitedFor() {
        var stage = Stage(hasPermd: false)
        #expect(stage.on(.attempted(attempt(11))).contains(.startTimer(.permd(user: user))))
        _ = stage.on(.stopped(thread: 11, hasSignal: false))
        #expect(stage.on(registration) == [.stopTimer(.permd(user: user)), ask(1)])
    }

    @Test
    func withoutPermdTheCallFails() {
        var stage = Stage()
        stage.hold(11)
        #expect(stage.on(.departed(user: user)) == [.startTimer(.permd(user: user))])
        #expect(
            stage.on(.timerFired(.permd(user: user))) == [
                .release(thread: 11, .refused), .followSignals(pid: 10, false),
            ])
        // The next one waits again.
        #expect(stage.on(.attempted(attempt(11))).contains(.startTimer(.permd(user: user))))
    }

    @Test
    func anotherPermdIsAskedAboutEverything() {
        var stage = Stage()
        stage.hold(11)
        _ = stage.on(.answered(user: user, 1, .granted), .departed(user: user))
        #expect(stage.on(registration) == [ask(2, device: 0, waits: false)])
    }

    @Test
    func aPermdAnswersForItsOwnUserOnly() {
        var stage = Stage()
        stage.hold(11)
        #expect(stage.on(.registered(user: 1001, pid: 501), .answered(user: 1001, 1, .granted)) == [])
        #expect(stage.table.waitingThreads == 1)
    }

    @Test
    func anEarlierRunsDecisionsGoOn() {
        var stage = Stage(hasPermd: false)
        #expect(
            stage.on(.restored(program, user: user, .camera, .grant, passes: false)) == [.follow(program, true)])
        #expect(stage.on(registration) == [ask(1, device: 0, waits: false)])
    }

    /// It opens devices to look at them, which nobody else can answer.
    @Test
    func aUsersPermdIsNotAskedAboutItself() {
        var stage = Stage(hasPermd: false)
        let itself = ProcessImage(pid: permd, start: 1, exec: 1)
        stage.hold(permd, itself)
        #expect(
            stage.on(registration) == [
                .stopTimer(.permd(user: user)), .store(itself, user: user, .camera, .grant),
                .release(thread: permd, .again), .followSignals(pid: permd, false),
            ])
        #expect(stage.on(.recheck(user: user, nil)) == [])
        // It is a program as others are when it has left the bus.
        #expect(
            stage.on(.departed(user: user)) == [
                .store(itself, user: user, .camera, nil), .follow(itself, false),
            ])
    }

    // MARK: Limits

    private let refusal: [GuardEffect] = [.dismiss(thread: 99, .refused), .limitReached(user: user)]

    /// One program of each control group, with a thread.
    private func fill(_ stage: inout Stage, _ count: Int, group: UInt64, from pid: Int32) {
        for index in 0..<Int32(count) {
            stage.hold(pid + index, ProcessImage(pid: pid + index, start: 1, exec: 1), group: group)
        }
    }

    @Test
    func threadsOfOneProgramTakeFewPlaces() {
        var stage = Stage()
        for thread in 0..<Int32(GuardTable.threadsPerAsk) { stage.hold(100 + thread) }
        #expect(stage.on(.attempted(attempt(99))) == refusal)
        #expect(stage.on(.attempted(attempt(98, other))).contains(.claim(attempt(98, other))))
    }

    /// A sandboxed app cannot leave its control group.
    @Test
    func noAppKeepsOthersFromAsking() {
        var stage = Stage()
        let share = GuardTable.programsPerUser / GuardTable.groups
        fill(&stage, share, group: 1, from: 1000)
        #expect(stage.on(.attempted(attempt(99))) == refusal)
        #expect(stage.on(.attempted(attempt(98, other, group: 2))).contains(.claim(attempt(98, other, group: 2))))
    }

    @Test
    func anotherUserHasPlacesOfTheirOwn() {
        var stage = Stage()
        let share = GuardTable.programsPerUser / GuardTable.groups
        for group in 0..<GuardTable.groups {
            fill(&stage, share, group: UInt64(group), from: 1000 + Int32(group * share))
        }
        #expect(stage.on(.attempted(attempt(99, group: 9))) == refusal)
        #expect(stage.on(.attempted(attempt(98, other, user: 1001))).contains(.claim(attempt(98, other, user: 1001))))
    }

    @Test
    func theProgramThatAskedTheLongestAgoIsForgotten() {
        var stage = Stage()
        let share = GuardTable.programsPerUser / GuardTable.groups
        let programs = (0..<Int32(share)).map { ProcessImage(pid: 1000 + $0, start: 1, exec: 1) }
        for program in programs {
            stage.hold(program.pid, program)
            _ = stage.on(.answered(user: user, AskID(program.pid - 999), .granted))
        }
        // What is forgotten has no right any more.
        #expect(
            stage.on(.attempted(attempt(11))).prefix(2) == [
                .store(programs[0], user: user, .camera, nil), .follow(programs[0], false),
            ])
    }

    @Test
    func programsThatWaitAreNotForgottenForOthers() {
        var stage = Stage()
        for pid in 0..<Int32(GuardTable.programsPerUser / GuardTable.groups) {
            let failed = ProcessImage(pid: 1000 + pid, start: 1, exec: 1)
            _ = stage.on(.failed(attempt(1000 + pid, failed)))
        }
        #expect(stage.on(.attempted(attempt(99))) == refusal)
    }
}
