// Synchronizes the portals' permission store with permd's decisions.
//
// xdg-desktop-portal stores the yes or no of every dialog permanently, per app ID. An answer given by permd is removed
// when the decision behind it ends; an answer written by another program becomes a decision.

package import PermissionModel

/// An entry of the portals' store: an app ID as portals use it, and the question.
package struct PortalKey: Sendable, Hashable {
    /// Empty for a program outside any sandbox whose ID the portal does not know.
    package let appID: String
    package let item: PromptItem

    package init(appID: String, item: PromptItem) {
        self.appID = appID
        self.item = item
    }

    /// Whether only the portal stores the answer, without a decision of permd.
    var isOfPortal: Bool { item.permission == nil }

    /// The app ID, to be compared byte for byte.
    package var exactID: ExactText { ExactText(appID) }

    package static func == (a: PortalKey, b: PortalKey) -> Bool {
        a.item == b.item && a.exactID == b.exactID
    }
}

/// The current decisions and rules.
package protocol PortalJudge {
    /// Whether a decision or a rule gives the same verdict, so that the entry may stay.
    func agrees(_ verdict: Verdict, for key: PortalKey) -> Bool
}

package enum PortalEffect: Sendable, Hashable {
    /// Delete the entry, then call ``PortalSyncRule/deletionEnded(_:isGone:at:by:)``.
    case takeBack(PortalKey)
    /// Another program wrote the entry: make it a decision, then call `decided(_:)` if that succeeds.
    case decide(PortalKey, Verdict)
    /// Another program deleted the entry: forget the decision.
    case forget(PortalKey)
    /// The portals' store has no answer of permd left: delete the row that records it.
    case dropRow(PortalKey)
}

package struct PortalSyncRule {
    /// Milliseconds within which a portal stores an answer: usually at once, later on a loaded system.
    static let echoTime: Int64 = 10_000
    /// Milliseconds within which a portal may write back an entry that it read before permd deleted it.
    static let rewriteTime: Int64 = 5_000
    /// The answers that a portal may store, and the deletions that it may undo, that are remembered at a time. Nobody
    /// answers as many dialogs within these times; a program may, with names that it makes up.
    static let maximumRemembered = 1024

    private struct Echo {
        let key: PortalKey
        let verdict: Verdict
        let deadline: Int64
        /// The dialog ended without an answer.
        let isUnsaid: Bool
    }

    /// Answers that permd gave and the portal may have stored.
    private var given: [PortalKey: Verdict]
    /// The content of the portals' store, by question; a question is missing while its entries are unknown.
    private var stored: [PromptItem: [PortalKey: Verdict]] = [:]
    private var echoes: [Echo] = []
    private var takenBack: [PortalKey: (verdict: Verdict, until: Int64)] = [:]
    /// Until then, what is written or deleted may follow from what was not remembered: nothing that is written becomes a
    /// decision, and no decision is forgotten.
    private var unclearUntil: Int64 = 0
    private var deleting: Set<PortalKey> = []
    /// Entries that are being written as decisions, or could not be: the latter are left alone until all are read again.
    private var deciding: Set<PortalKey> = []

    /// - Parameter given: the answers given by earlier runs.
    package init(given: [PortalKey: Verdict]) { self.given = given }

    /// Whether this is the last answer that permd gave.
    package func isGiven(_ key: PortalKey, _ verdict: Verdict) -> Bool { given[key] == verdict }

    /// The entries of a question. While they are unknown, what permd answered is taken to be stored.
    private func entries(of item: PromptItem) -> [PortalKey: Verdict] {
        stored[item] ?? given.filter { $0.key.item == item }
    }

    // MARK: Events

    /// A dialog is about to be answered. A nil verdict means that nobody answered, which a portal stores as a no.
    package mutating func answers(_ key: PortalKey, _ verdict: Verdict?, at uptime: Int64) {
        let answer = verdict ?? .deny
        forgetEchoes(at: uptime)
        let deadline = uptime + PortalSyncRule.echoTime
        guard echoes.count < PortalSyncRule.maximumRemembered else {
            unclearUntil = deadline
            return
        }
        if !key.isOfPortal { given[key] = answer }
        echoes.append(Echo(key: key, verdict: answer, deadline: deadline, isUnsaid: verdict == nil))
    }

    /// Forgets the echoes that are not due any more, and the answers that nobody gave and no portal has stored.
    private mutating func forgetEchoes(at uptime: Int64) {
        let over = echoes.prefix { $0.deadline <= uptime }
        echoes.removeFirst(over.count)
        for echo in over where echo.isUnsaid {
            let isStored = stored[echo.key.item].map { $0[echo.key] != nil } ?? true
            if !isStored, !isEchoDue(echo.key, uptime) { given[echo.key] = nil }
        }
    }

    /// The entries about one question were read, or have changed to these.
    package mutating func found(
        _ entries: [PortalKey: Verdict], of item: PromptItem, at uptime: Int64, by judge: some PortalJudge
    ) -> [PortalEffect] {
        let isFirst = stored[item] == nil
        let before = self.entries(of: item)
        stored[item] = entries
        var effects: [PortalEffect] = []
        for key in Set(before.keys).union(entries.keys).sorted() where before[key] != entries[key] {
            guard let verdict = entries[key] else {
                effects += deleted(key, isFirst: isFirst, uptime)
                continue
            }
            // At first, nothing shows whether the entry or a decision that differs is newer: the denial wins.
            let isSettled = judge.agrees(verdict, for: key) || judge.agrees(.deny, for: key)
            if isFirst, !key.isOfPortal, isSettled { continue }
            effects += written(key, verdict, uptime)
        }
        return effects + review(at: uptime, by: judge)
    }

    /// The portals' store is no longer available, or is read again.
    package mutating func lost() {
        stored = [:]
        deciding = []
    }

    /// Decisions or rules have changed.
    package mutating func review(at uptime: Int64, by judge: some PortalJudge) -> [PortalEffect] {
        takenBack = takenBack.filter { $0.value.until > uptime }
        let all = Set(stored.keys).union(given.keys.map(\.item)).flatMap { entries(of: $0) }
        return all.sorted { $0.key < $1.key }.flatMap { key, verdict -> [PortalEffect] in
            guard !key.isOfPortal, !deciding.contains(key), !judge.agrees(verdict, for: key) else {
                return []
            }
            return takeBack(key, verdict, uptime)
        }
    }

    /// A ``PortalEffect/takeBack(_:)`` was carried out or has failed. After a failure it is retried at the next event.
    package mutating func deletionEnded(
        _ key: PortalKey, isGone: Bool, at uptime: Int64, by judge: some PortalJudge
    ) -> [PortalEffect] {
        guard deleting.remove(key) != nil, isGone else { return [] }
        if stored[key.item] == nil { return given.removeValue(forKey: key) == nil ? [] : [.dropRow(key)] }
        // The portal may have written the entry again in the meantime.
        return review(at: uptime, by: judge)
    }

    /// An entry has become a decision, or a later decision has replaced it.
    @discardableResult
    package mutating func decided(_ key: PortalKey) -> [PortalEffect] {
        deciding.remove(key)
        // The entry was deleted before the decision was written.
        guard let entries = stored[key.item], entries[key] == nil, given[key] == nil else { return [] }
        return [.forget(key)]
    }

    // MARK: Changed entries

    private mutating func written(_ key: PortalKey, _ verdict: Verdict, _ uptime: Int64) -> [PortalEffect] {
        if let index = echoes.firstIndex(where: { $0.key == key && $0.verdict == verdict && $0.deadline > uptime }) {
            let echo = echoes.remove(at: index)
            return key.isOfPortal && echo.isUnsaid ? takeBack(key, verdict, uptime) : []
        }
        if key.isOfPortal { return [] }
        if let back = takenBack[key], back.verdict == verdict, back.until > uptime { return [] }
        if unclearUntil > uptime { return takeBack(key, verdict, uptime) }
        var effects = decide(key, verdict)
        if given.removeValue(forKey: key) != nil { effects.append(.dropRow(key)) }
        return effects
    }

    private mutating func deleted(_ key: PortalKey, isFirst: Bool, _ uptime: Int64) -> [PortalEffect] {
        let isOurs = max(takenBack[key]?.until ?? 0, unclearUntil) > uptime
        var effects: [PortalEffect] = isFirst || isOurs || key.isOfPortal ? [] : [.forget(key)]
        if !isEchoDue(key, uptime), given.removeValue(forKey: key) != nil { effects.append(.dropRow(key)) }
        return effects
    }

    private func isEchoDue(_ key: PortalKey, _ uptime: Int64) -> Bool {
        echoes.contains { $0.key == key && $0.deadline > uptime }
    }

    private mutating func decide(_ key: PortalKey, _ verdict: Verdict) -> [PortalEffect] {
        // Programs that share the empty ID cannot be told apart. Their entry is only reviewed, like a stale one.
        guard !key.appID.isEmpty, !key.isOfPortal else { return [] }
        deciding.insert(key)
        return [.decide(key, verdict)]
    }

    private mutating func takeBack(_ key: PortalKey, _ verdict: Verdict, _ uptime: Int64) -> [PortalEffect] {
        guard deleting.insert(key).inserted else { return [] }
        let until = uptime + PortalSyncRule.rewriteTime
        if takenBack.count < PortalSyncRule.maximumRemembered || takenBack[key] != nil {
            takenBack[key] = (verdict, until)
        } else {
            unclearUntil = max(unclearUntil, until)
        }
        return [.takeBack(key)]
    }
}

extension PortalKey: Comparable {
    package static func < (a: PortalKey, b: PortalKey) -> Bool {
        (a.exactID, a.item) < (b.exactID, b.item)
    }
}
