// Entries of the portals' permission store: which are deleted, which become decisions, which are left alone.

import PermissionCore
import PermissionModel
import Testing

struct PortalSyncRuleTests {
    /// The verdict in force for each `app permission`.
    private struct Judge: PortalJudge {
        var standing: [String: Verdict] = [:]

        func stands(_ verdict: Verdict, for key: PortalKey) -> Bool {
            standing["\(key.appID) \(key.question.name)"] == verdict
        }
    }

    private let camera = PortalKey(appID: "org.example.Call", question: .camera)

    private func mirror(_ given: [PortalKey: Verdict] = [:], looked: [PortalKey: Verdict] = [:]) -> PortalSyncRule {
        var mirror = PortalSyncRule(given: given)
        var judge = Judge()
        for (key, verdict) in looked { judge.standing["\(key.appID) \(key.question.name)"] = verdict }
        #expect(mirror.looked(looked, at: 0, by: judge) == [])
        return mirror
    }

    private let granted = Judge(standing: ["org.example.Call camera": .grant])
    private let denied = Judge(standing: ["org.example.Call camera": .deny])
    private let nothing = Judge()

    @Test func aGrantIsDeletedWhenItsDecisionEnds() {
        var mirror = mirror()
        mirror.answers(camera, .grant, at: 0)
        #expect(mirror.changed(.camera, ["org.example.Call": .grant], at: 5, by: granted) == [])
        #expect(mirror.review(at: 100, by: granted) == [])
        #expect(mirror.review(at: 200, by: nothing) == [.takeBack(camera)])
        // The deletion is requested only once.
        #expect(mirror.review(at: 201, by: nothing) == [])
        #expect(mirror.changed(.camera, [:], at: 202, by: nothing) == [.dropRow(camera)])
        #expect(mirror.took(camera, isGone: true, at: 203, by: nothing) == [])
    }

    /// `String` considers these two app ids equal.
    @Test func idsAreTheirBytes() {
        let composed = PortalKey(appID: "org.example.Caf\u{E9}", question: .camera)
        let decomposed = PortalKey(appID: "org.example.Cafe\u{301}", question: .camera)
        #expect(composed != decomposed)
        #expect(composed > decomposed && !(composed < decomposed))
        var mirror = PortalSyncRule(given: [:])
        #expect(mirror.looked([composed: .grant], at: 0, by: granted) == [.adopt(composed, .grant)])
        let effects = mirror.changed(
            .camera, ["org.example.Caf\u{E9}": .grant, "org.example.Cafe\u{301}": .grant], at: 5, by: nothing)
        #expect(effects == [.adopt(decomposed, .grant)])
    }

    @Test func aDenialWithoutAnAnswerIsDeleted() {
        var mirror = mirror()
        mirror.answers(camera, nil, at: 0)
        #expect(mirror.changed(.camera, ["org.example.Call": .deny], at: 5, by: nothing) == [.takeBack(camera)])
    }

    @Test func aDenialStaysWhileItsDecisionHolds() {
        var mirror = mirror()
        mirror.answers(camera, .deny, at: 0)
        #expect(mirror.changed(.camera, ["org.example.Call": .deny], at: 5, by: denied) == [])
    }

    @Test func anAnswerStoredAfterItsDecisionEndedIsDeleted() {
        var mirror = mirror()
        mirror.answers(camera, .grant, at: 0)
        #expect(mirror.review(at: 1, by: nothing) == [])
        #expect(mirror.changed(.camera, ["org.example.Call": .grant], at: 5, by: nothing) == [.takeBack(camera)])
    }

    @Test func anEntryOfAnotherProgramBecomesADecision() {
        var mirror = mirror()
        #expect(mirror.changed(.camera, ["org.example.Call": .deny], at: 5, by: nothing) == [.adopt(camera, .deny)])
        // The entry is not deleted while the decision is being written.
        #expect(mirror.review(at: 6, by: nothing) == [])
        mirror.adopted(camera)
        #expect(mirror.review(at: 7, by: denied) == [])
    }

    @Test func aFailedAdoptionIsRetried() {
        var mirror = mirror()
        #expect(mirror.changed(.camera, ["org.example.Call": .deny], at: 5, by: nothing) == [.adopt(camera, .deny)])
        mirror.notAdopted(camera)
        // Meanwhile the entry is neither deleted nor forgotten.
        #expect(mirror.review(at: 6, by: nothing) == [])
        #expect(mirror.adoptAgain() == [.adopt(camera, .deny)])
        // Only one attempt is made at a time.
        #expect(mirror.adoptAgain() == [])
        mirror.notAdopted(camera)
        #expect(mirror.adoptAgain() == [.adopt(camera, .deny)])
        #expect(mirror.adopted(camera) == [])
        #expect(mirror.adoptAgain() == [])
        #expect(mirror.review(at: 7, by: denied) == [])
    }

    @Test func theAdoptionOfADeletedEntryIsNotRetried() {
        var mirror = mirror()
        _ = mirror.changed(.camera, ["org.example.Call": .deny], at: 5, by: nothing)
        mirror.notAdopted(camera)
        #expect(mirror.changed(.camera, [:], at: 6, by: nothing) == [.forget(camera)])
        #expect(mirror.adoptAgain() == [])
        // A later entry is handled like any other.
        #expect(mirror.changed(.camera, ["org.example.Call": .grant], at: 7, by: nothing) == [.adopt(camera, .grant)])
        #expect(mirror.changed(.camera, [:], at: 8, by: nothing) == [.forget(camera)])
        // The entry was deleted while the decision was being written: the decision is removed too.
        #expect(mirror.adopted(camera) == [.forget(camera)])
    }

    @Test func anEntryThatOverwritesOurAnswerBecomesADecision() {
        var mirror = mirror()
        mirror.answers(camera, .grant, at: 0)
        _ = mirror.changed(.camera, ["org.example.Call": .grant], at: 5, by: granted)
        #expect(
            mirror.changed(.camera, ["org.example.Call": .deny], at: 20_000, by: granted)
                == [.adopt(camera, .deny), .dropRow(camera)])
    }

    @Test func aDeletionByAnotherProgramRemovesTheDecision() {
        var mirror = mirror(looked: [camera: .grant])
        #expect(mirror.changed(.camera, [:], at: 5, by: granted) == [.forget(camera)])
    }

    @Test func anEntryLongAfterOurAnswerIsNotTakenForIt() {
        var mirror = mirror()
        mirror.answers(camera, .grant, at: 0)
        #expect(
            mirror.changed(.camera, ["org.example.Call": .grant], at: 60_000, by: nothing)
                == [.adopt(camera, .grant), .dropRow(camera)])
    }

    @Test func aPortalThatRewritesADeletedEntryMakesNoDecision() {
        var mirror = mirror(looked: [camera: .grant])
        #expect(mirror.review(at: 0, by: nothing) == [.takeBack(camera)])
        #expect(mirror.changed(.camera, [:], at: 5, by: nothing) == [])
        #expect(mirror.took(camera, isGone: true, at: 6, by: nothing) == [])
        #expect(mirror.changed(.camera, ["org.example.Call": .grant], at: 7, by: nothing) == [.takeBack(camera)])
    }

    @Test func aWriteDuringADeletionIsHandledAfterIt() {
        var mirror = mirror(looked: [camera: .grant])
        #expect(mirror.review(at: 0, by: nothing) == [.takeBack(camera)])
        #expect(mirror.changed(.camera, [:], at: 5, by: nothing) == [])
        #expect(mirror.changed(.camera, ["org.example.Call": .grant], at: 6, by: nothing) == [])
        #expect(mirror.took(camera, isGone: true, at: 7, by: nothing) == [.takeBack(camera)])
    }

    @Test func whatIsThereAtTheStart() {
        let other = PortalKey(appID: "org.example.Other", question: .location)
        let nameless = PortalKey(appID: "", question: .camera)
        var mirror = PortalSyncRule(given: [camera: .grant])
        // Our answer whose decision has ended and an entry without an app id are deleted; another program's is adopted.
        #expect(
            mirror.looked([camera: .grant, other: .deny, nameless: .grant], at: 0, by: nothing)
                == [.adopt(other, .deny), .takeBack(nameless), .takeBack(camera)])
    }

    @Test func theDenialWinsAtStartup() {
        var mirror = PortalSyncRule(given: [:])
        #expect(mirror.looked([camera: .grant], at: 0, by: denied) == [.takeBack(camera)])
        mirror = PortalSyncRule(given: [:])
        #expect(mirror.looked([camera: .deny], at: 0, by: granted) == [.adopt(camera, .deny)])
    }

    @Test func rowsOfMissingEntriesAreDroppedAtStartup() {
        var mirror = PortalSyncRule(given: [camera: .grant])
        #expect(mirror.looked([:], at: 0, by: granted) == [.dropRow(camera)])
    }

    /// The portals' store is not running, but its file may contain our answers.
    @Test func ourAnswersAreDeletedThoughTheStoreIsNotRunning() {
        var mirror = PortalSyncRule(given: [camera: .grant])
        #expect(mirror.review(at: 0, by: granted) == [])
        #expect(mirror.review(at: 1, by: nothing) == [.takeBack(camera)])
        #expect(mirror.took(camera, isGone: false, at: 2, by: nothing) == [])
        #expect(mirror.review(at: 3, by: nothing) == [.takeBack(camera)])
        #expect(mirror.took(camera, isGone: true, at: 4, by: nothing) == [.dropRow(camera)])
    }

    @Test func whatThePortalKeepsItselfIsItsOwn() {
        let screenshot = PortalKey(appID: "org.example.Call", question: .screenshot)
        var mirror = mirror()
        mirror.answers(screenshot, .deny, at: 0)
        #expect(mirror.changed(.screenshot, ["org.example.Call": .deny], at: 1, by: nothing) == [])
        #expect(mirror.changed(.screenshot, [:], at: 2, by: nothing) == [])
        // A denial without an answer is still deleted.
        mirror.answers(screenshot, nil, at: 3)
        #expect(mirror.changed(.screenshot, ["org.example.Call": .deny], at: 4, by: nothing) == [.takeBack(screenshot)])
    }
}
