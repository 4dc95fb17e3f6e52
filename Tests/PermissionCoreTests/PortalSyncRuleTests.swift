// Entries of the portals' permission store: which are deleted, which become decisions, which are left alone.

import PermissionCore
import PermissionModel
import Testing

struct PortalSyncRuleTests {
    /// The verdict in force for each `app permission`.
    private struct Judge: PortalJudge {
        var standing: [String: Verdict] = [:]

        func agrees(_ verdict: Verdict, for key: PortalKey) -> Bool {
            standing["\(key.appID) \(key.question.name)"] == verdict
        }
    }

    private let camera = PortalKey(appID: "org.example.Call", question: .camera)

    private func rule(_ given: [PortalKey: Verdict] = [:], looked: [PortalKey: Verdict] = [:]) -> PortalSyncRule {
        var rule = PortalSyncRule(given: given)
        var judge = Judge()
        for (key, verdict) in looked { judge.standing["\(key.appID) \(key.question.name)"] = verdict }
        #expect(rule.read(looked, at: 0, by: judge) == [])
        return rule
    }

    private let granted = Judge(standing: ["org.example.Call camera": .grant])
    private let denied = Judge(standing: ["org.example.Call camera": .deny])
    private let nothing = Judge()

    @Test func aGrantIsDeletedWhenItsDecisionEnds() {
        var rule = rule()
        rule.answers(camera, .grant, at: 0)
        #expect(rule.changed(.camera, ["org.example.Call": .grant], at: 5, by: granted) == [])
        #expect(rule.review(at: 100, by: granted) == [])
        #expect(rule.review(at: 200, by: nothing) == [.takeBack(camera)])
        // The deletion is requested only once.
        #expect(rule.review(at: 201, by: nothing) == [])
        #expect(rule.changed(.camera, [:], at: 202, by: nothing) == [.dropRow(camera)])
        #expect(rule.deletionEnded(camera, isGone: true, at: 203, by: nothing) == [])
    }

    /// `String` considers these two app ids equal.
    @Test func idsAreTheirBytes() {
        let composed = PortalKey(appID: "org.example.Caf\u{E9}", question: .camera)
        let decomposed = PortalKey(appID: "org.example.Cafe\u{301}", question: .camera)
        #expect(composed != decomposed)
        #expect(composed > decomposed && !(composed < decomposed))
        var rule = PortalSyncRule(given: [:])
        #expect(rule.read([composed: .grant], at: 0, by: granted) == [.adopt(composed, .grant)])
        let effects = rule.changed(
            .camera, ["org.example.Caf\u{E9}": .grant, "org.example.Cafe\u{301}": .grant], at: 5, by: nothing)
        #expect(effects == [.adopt(decomposed, .grant)])
    }

    @Test func aDenialWithoutAnAnswerIsDeleted() {
        var rule = rule()
        rule.answers(camera, nil, at: 0)
        #expect(rule.changed(.camera, ["org.example.Call": .deny], at: 5, by: nothing) == [.takeBack(camera)])
    }

    @Test func aDenialStaysWhileItsDecisionHolds() {
        var rule = rule()
        rule.answers(camera, .deny, at: 0)
        #expect(rule.changed(.camera, ["org.example.Call": .deny], at: 5, by: denied) == [])
    }

    @Test func anAnswerStoredAfterItsDecisionEndedIsDeleted() {
        var rule = rule()
        rule.answers(camera, .grant, at: 0)
        #expect(rule.review(at: 1, by: nothing) == [])
        #expect(rule.changed(.camera, ["org.example.Call": .grant], at: 5, by: nothing) == [.takeBack(camera)])
    }

    @Test func anEntryOfAnotherProgramBecomesADecision() {
        var rule = rule()
        #expect(rule.changed(.camera, ["org.example.Call": .deny], at: 5, by: nothing) == [.adopt(camera, .deny)])
        // The entry is not deleted while the decision is being written.
        #expect(rule.review(at: 6, by: nothing) == [])
        rule.adopted(camera)
        #expect(rule.review(at: 7, by: denied) == [])
    }

    @Test func aFailedAdoptionIsRetried() {
        var rule = rule()
        #expect(rule.changed(.camera, ["org.example.Call": .deny], at: 5, by: nothing) == [.adopt(camera, .deny)])
        // Meanwhile the entry is neither deleted nor forgotten.
        #expect(rule.review(at: 6, by: nothing) == [])
        #expect(rule.read([camera: .deny], at: 7, by: nothing) == [.adopt(camera, .deny)])
        #expect(rule.adopted(camera) == [])
        #expect(rule.read([camera: .deny], at: 8, by: denied) == [])
    }

    @Test func theAdoptionOfADeletedEntryIsNotRetried() {
        var rule = rule()
        _ = rule.changed(.camera, ["org.example.Call": .deny], at: 5, by: nothing)
        #expect(rule.changed(.camera, [:], at: 6, by: nothing) == [.forget(camera)])
        #expect(rule.read([:], at: 6, by: nothing) == [])
        // A later entry is handled like any other.
        #expect(rule.changed(.camera, ["org.example.Call": .grant], at: 7, by: nothing) == [.adopt(camera, .grant)])
        #expect(rule.changed(.camera, [:], at: 8, by: nothing) == [.forget(camera)])
        // The entry was deleted while the decision was being written: the decision is removed too.
        #expect(rule.adopted(camera) == [.forget(camera)])
    }

    @Test func anEntryThatOverwritesOurAnswerBecomesADecision() {
        var rule = rule()
        rule.answers(camera, .grant, at: 0)
        _ = rule.changed(.camera, ["org.example.Call": .grant], at: 5, by: granted)
        #expect(
            rule.changed(.camera, ["org.example.Call": .deny], at: 20_000, by: granted)
                == [.adopt(camera, .deny), .dropRow(camera)])
    }

    @Test func aDeletionByAnotherProgramRemovesTheDecision() {
        var rule = rule(looked: [camera: .grant])
        #expect(rule.changed(.camera, [:], at: 5, by: granted) == [.forget(camera)])
    }

    @Test func anEntryLongAfterOurAnswerIsNotTakenForIt() {
        var rule = rule()
        rule.answers(camera, .grant, at: 0)
        #expect(
            rule.changed(.camera, ["org.example.Call": .grant], at: 60_000, by: nothing)
                == [.adopt(camera, .grant), .dropRow(camera)])
    }

    @Test func aPortalThatRewritesADeletedEntryMakesNoDecision() {
        var rule = rule(looked: [camera: .grant])
        #expect(rule.review(at: 0, by: nothing) == [.takeBack(camera)])
        #expect(rule.changed(.camera, [:], at: 5, by: nothing) == [])
        #expect(rule.deletionEnded(camera, isGone: true, at: 6, by: nothing) == [])
        #expect(rule.changed(.camera, ["org.example.Call": .grant], at: 7, by: nothing) == [.takeBack(camera)])
    }

    @Test func aWriteDuringADeletionIsHandledAfterIt() {
        var rule = rule(looked: [camera: .grant])
        #expect(rule.review(at: 0, by: nothing) == [.takeBack(camera)])
        #expect(rule.changed(.camera, [:], at: 5, by: nothing) == [])
        #expect(rule.changed(.camera, ["org.example.Call": .grant], at: 6, by: nothing) == [])
        #expect(rule.deletionEnded(camera, isGone: true, at: 7, by: nothing) == [.takeBack(camera)])
    }

    @Test func whatIsThereAtTheStart() {
        let other = PortalKey(appID: "org.example.Other", question: .location)
        let nameless = PortalKey(appID: "", question: .camera)
        var rule = PortalSyncRule(given: [camera: .grant])
        // Our answer whose decision has ended and an entry without an app id are deleted; another program's is adopted.
        #expect(
            rule.read([camera: .grant, other: .deny, nameless: .grant], at: 0, by: nothing)
                == [.adopt(other, .deny), .takeBack(nameless), .takeBack(camera)])
    }

    @Test func theDenialWinsAtStartup() {
        var rule = PortalSyncRule(given: [:])
        #expect(rule.read([camera: .grant], at: 0, by: denied) == [.takeBack(camera)])
        rule = PortalSyncRule(given: [:])
        #expect(rule.read([camera: .deny], at: 0, by: granted) == [.adopt(camera, .deny)])
    }

    @Test func rowsOfMissingEntriesAreDroppedAtStartup() {
        var rule = PortalSyncRule(given: [camera: .grant])
        #expect(rule.read([:], at: 0, by: granted) == [.dropRow(camera)])
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
        let screenshot = PortalKey(appID: "org.example.Call", question: .screenshot)
        var rule = rule()
        rule.answers(screenshot, .deny, at: 0)
        #expect(rule.changed(.screenshot, ["org.example.Call": .deny], at: 1, by: nothing) == [])
        #expect(rule.changed(.screenshot, [:], at: 2, by: nothing) == [])
        // A denial without an answer is still deleted.
        rule.answers(screenshot, nil, at: 3)
        #expect(rule.changed(.screenshot, ["org.example.Call": .deny], at: 4, by: nothing) == [.takeBack(screenshot)])
    }
}
