// Entries of the portals' permission store: which are deleted, which become decisions, which are left alone.

import PermissionCore
import PermissionModel
import Testing

struct PortalSyncRuleTests {
    /// The verdict in force for each `app permission`.
    private struct Judge: PortalJudge {
        var verdicts: [String: Verdict] = [:]

        func agrees(_ verdict: Verdict, for key: PortalKey) -> Bool {
            key.item.permission == nil || verdicts["\(key.appID) \(key.item.name)"] == verdict
        }
    }

    private let camera = PortalKey(appID: "org.example.Call", item: .camera)

    private func rule(_ given: [PortalKey: Verdict] = [:], stored: [PortalKey: Verdict] = [:]) -> PortalSyncRule {
        var rule = PortalSyncRule(given: given)
        var judge = Judge()
        for (key, verdict) in stored { judge.verdicts["\(key.appID) \(key.item.name)"] = verdict }
        #expect(rule.found(stored, of: .camera, at: 0, by: judge) == [])
        return rule
    }

    private let granted = Judge(verdicts: ["org.example.Call camera": .grant])
    private let denied = Judge(verdicts: ["org.example.Call camera": .deny])
    private let nothing = Judge()

    @Test func aGrantIsDeletedWhenItsDecisionEnds() {
        var rule = rule()
        rule.answers(camera, .grant, at: 0)
        #expect(rule.found([camera: .grant], of: .camera, at: 5, by: granted) == [])
        #expect(rule.review(at: 100, by: granted) == [])
        #expect(rule.review(at: 200, by: nothing) == [.takeBack(camera)])
        // The deletion is requested only once.
        #expect(rule.review(at: 201, by: nothing) == [])
        #expect(rule.found([:], of: .camera, at: 202, by: nothing) == [.dropRow(camera)])
        #expect(rule.deletionEnded(camera, isGone: true, at: 203, by: nothing) == [])
    }

    /// `String` considers these two app ids equal.
    @Test func idsAreTheirBytes() {
        let composed = PortalKey(appID: "org.example.Caf\u{E9}", item: .camera)
        let decomposed = PortalKey(appID: "org.example.Cafe\u{301}", item: .camera)
        #expect(composed != decomposed)
        #expect(composed > decomposed && !(composed < decomposed))
        var rule = PortalSyncRule(given: [:])
        #expect(rule.found([composed: .grant], of: .camera, at: 0, by: granted) == [.decide(composed, .grant)])
        let effects = rule.found([composed: .grant, decomposed: .grant], of: .camera, at: 5, by: nothing)
        #expect(effects == [.decide(decomposed, .grant)])
    }

    @Test func aDenialWithoutAnAnswerIsDeleted() {
        var rule = rule()
        rule.answers(camera, nil, at: 0)
        #expect(rule.found([camera: .deny], of: .camera, at: 5, by: nothing) == [.takeBack(camera)])
    }

    @Test func aDenialStaysWhileItsDecisionHolds() {
        var rule = rule()
        rule.answers(camera, .deny, at: 0)
        #expect(rule.found([camera: .deny], of: .camera, at: 5, by: denied) == [])
    }

    @Test func anAnswerStoredAfterItsDecisionEndedIsDeleted() {
        var rule = rule()
        rule.answers(camera, .grant, at: 0)
        #expect(rule.review(at: 1, by: nothing) == [])
        #expect(rule.found([camera: .grant], of: .camera, at: 5, by: nothing) == [.takeBack(camera)])
    }

    @Test func anEntryOfAnotherProgramBecomesADecision() {
        var rule = rule()
        #expect(rule.found([camera: .deny], of: .camera, at: 5, by: nothing) == [.decide(camera, .deny)])
        // The entry is not deleted while the decision is being written.
        #expect(rule.review(at: 6, by: nothing) == [])
        rule.decided(camera)
        #expect(rule.review(at: 7, by: denied) == [])
    }

    @Test func aFailedAdoptionIsRetried() {
        var rule = rule()
        #expect(rule.found([camera: .deny], of: .camera, at: 5, by: nothing) == [.decide(camera, .deny)])
        // Meanwhile the entry is neither deleted nor forgotten.
        #expect(rule.review(at: 6, by: nothing) == [])
        rule.lost()
        #expect(rule.found([camera: .deny], of: .camera, at: 7, by: nothing) == [.decide(camera, .deny)])
        #expect(rule.decided(camera) == [])
        rule.lost()
        #expect(rule.found([camera: .deny], of: .camera, at: 8, by: denied) == [])
    }

    @Test func theAdoptionOfADeletedEntryIsNotRetried() {
        var rule = rule()
        _ = rule.found([camera: .deny], of: .camera, at: 5, by: nothing)
        #expect(rule.found([:], of: .camera, at: 6, by: nothing) == [.forget(camera)])
        rule.lost()
        #expect(rule.found([:], of: .camera, at: 6, by: nothing) == [])
        // A later entry is handled like any other.
        #expect(rule.found([camera: .grant], of: .camera, at: 7, by: nothing) == [.decide(camera, .grant)])
        #expect(rule.found([:], of: .camera, at: 8, by: nothing) == [.forget(camera)])
        // The entry was deleted while the decision was being written: the decision is removed too.
        #expect(rule.decided(camera) == [.forget(camera)])
    }

    @Test func anEntryThatOverwritesOurAnswerBecomesADecision() {
        var rule = rule()
        rule.answers(camera, .grant, at: 0)
        _ = rule.found([camera: .grant], of: .camera, at: 5, by: granted)
        #expect(
            rule.found([camera: .deny], of: .camera, at: 20_000, by: granted)
                == [.decide(camera, .deny), .dropRow(camera)])
    }

    @Test func aDeletionByAnotherProgramRemovesTheDecision() {
        var rule = rule(stored: [camera: .grant])
        #expect(rule.found([:], of: .camera, at: 5, by: granted) == [.forget(camera)])
    }

    @Test func anEntryLongAfterOurAnswerIsNotTakenForIt() {
        var rule = rule()
        rule.answers(camera, .grant, at: 0)
        #expect(
            rule.found([camera: .grant], of: .camera, at: 60_000, by: nothing)
                == [.decide(camera, .grant), .dropRow(camera)])
    }

    @Test func aPortalThatRewritesADeletedEntryMakesNoDecision() {
        var rule = rule(stored: [camera: .grant])
        #expect(rule.review(at: 0, by: nothing) == [.takeBack(camera)])
        #expect(rule.found([:], of: .camera, at: 5, by: nothing) == [])
        #expect(rule.deletionEnded(camera, isGone: true, at: 6, by: nothing) == [])
        #expect(rule.found([camera: .grant], of: .camera, at: 7, by: nothing) == [.takeBack(camera)])
    }

    @Test func aWriteDuringADeletionIsHandledAfterIt() {
        var rule = rule(stored: [camera: .grant])
        #expect(rule.review(at: 0, by: nothing) == [.takeBack(camera)])
        #expect(rule.found([:], of: .camera, at: 5, by: nothing) == [])
        #expect(rule.found([camera: .grant], of: .camera, at: 6, by: nothing) == [])
        #expect(rule.deletionEnded(camera, isGone: true, at: 7, by: nothing) == [.takeBack(camera)])
    }

    @Test func whatIsThereAtTheStart() {
        let other = PortalKey(appID: "org.example.Other", item: .location)
        let nameless = PortalKey(appID: "", item: .camera)
        var rule = PortalSyncRule(given: [camera: .grant])
        // Our answer whose decision has ended and an entry without an app id are deleted; another program's is adopted.
        #expect(
            rule.found([camera: .grant, nameless: .grant], of: .camera, at: 0, by: nothing)
                == [.takeBack(nameless), .takeBack(camera)])
        #expect(rule.found([other: .deny], of: .location, at: 0, by: nothing) == [.decide(other, .deny)])
    }

    @Test func theDenialWinsAtStartup() {
        var rule = PortalSyncRule(given: [:])
        #expect(rule.found([camera: .grant], of: .camera, at: 0, by: denied) == [.takeBack(camera)])
        rule = PortalSyncRule(given: [:])
        #expect(rule.found([camera: .deny], of: .camera, at: 0, by: granted) == [.decide(camera, .deny)])
    }

    @Test func rowsOfMissingEntriesAreDroppedAtStartup() {
        var rule = PortalSyncRule(given: [camera: .grant])
        #expect(rule.found([:], of: .camera, at: 0, by: granted) == [.dropRow(camera)])
    }

    /// The portals' store is not running, but its file may contain our answers.
    @Test func ourAnswersAreDeletedThoughTheStoreIsNotRunning() {
        var rule = PortalSyncRule(given: [camera: .grant])
        #expect(rule.review(at: 0, by: granted) == [])
        #expect(rule.review(at: 1, by: nothing) == [.takeBack(camera)])
        #expect(rule.deletionEnded(camera, isGone: false, at: 2, by: nothing) == [])
        #expect(rule.review(at: 3, by: nothing) == [.takeBack(camera)])
        #expect(rule.deletionEnded(camera, isGone: true, at: 4, by: nothing) == [.dropRow(camera)])
    }

    @Test func whatThePortalKeepsItselfIsItsOwn() {
        let screenshot = PortalKey(appID: "org.example.Call", item: .screenshot)
        var rule = rule()
        rule.answers(screenshot, .deny, at: 0)
        #expect(rule.found([screenshot: .deny], of: .screenshot, at: 1, by: nothing) == [])
        #expect(rule.found([:], of: .screenshot, at: 2, by: nothing) == [])
        // A denial without an answer is still deleted.
        rule.answers(screenshot, nil, at: 3)
        #expect(rule.found([screenshot: .deny], of: .screenshot, at: 4, by: nothing) == [.takeBack(screenshot)])
        // Also if it is the first entry of the question.
        rule = PortalSyncRule(given: [:])
        rule.answers(screenshot, nil, at: 0)
        #expect(rule.found([screenshot: .deny], of: .screenshot, at: 1, by: nothing) == [.takeBack(screenshot)])
    }

    private func made(_ number: Int) -> PortalKey { PortalKey(appID: "org.example.Made\(number)", item: .camera) }

    /// A program has dialogs answered with ever new names. An answer that is not remembered does not become a decision
    /// when the portal stores it.
    @Test func answersBeyondTheLimitAreDeleted() {
        var rule = rule()
        for number in 0..<1024 { rule.answers(made(number), nil, at: 0) }
        rule.answers(camera, .grant, at: 1)
        #expect(rule.found([camera: .grant], of: .camera, at: 5, by: granted) == [.takeBack(camera)])
        #expect(rule.found([:], of: .camera, at: 6, by: granted) == [])
        #expect(rule.deletionEnded(camera, isGone: true, at: 7, by: granted) == [])
        // Ten seconds later there is room again.
        rule.answers(camera, .grant, at: 10_001)
        #expect(rule.found([camera: .grant], of: .camera, at: 10_005, by: granted) == [])
        // What nobody answered and no portal stored is no answer of permd any more.
        #expect(!rule.isGiven(made(0), .deny) && rule.isGiven(camera, .grant))
    }

    /// An entry whose deletion is not remembered does not become a decision when the portal writes it back, and its
    /// disappearance ends none.
    @Test func deletionsBeyondTheLimitEndNoDecision() {
        let entries = Dictionary(uniqueKeysWithValues: (0..<1025).map { (made($0), Verdict.grant) })
        var rule = PortalSyncRule(given: entries)
        #expect(rule.found(entries, of: .camera, at: 0, by: nothing).count == 1025)
        let effects = rule.found([:], of: .camera, at: 1, by: nothing)
        #expect(effects.count == 1025 && effects.allSatisfy { if case .dropRow = $0 { true } else { false } })
        for key in entries.keys { _ = rule.deletionEnded(key, isGone: true, at: 2, by: nothing) }
        let again = rule.found(entries, of: .camera, at: 3, by: nothing)
        #expect(again.allSatisfy { if case .takeBack = $0 { true } else { false } })
    }
}
