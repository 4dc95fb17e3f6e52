// What the portals' own store says, held against our decisions: two places, one truth.
//
// xdg-desktop-portal keeps the yes or no of every dialog for good, per app id. What we answered is ours to take back when
// the decision behind it ends; what another program writes there becomes our decision.

public import PermissionModel

/// An entry of the portals' store: an app id as portals have it, and what it is about.
public struct PortalKey: Sendable, Hashable {
    /// Empty for a program outside any sandbox whose id the portal does not know.
    public let appID: String
    public let question: Question

    public init(appID: String, question: Question) {
        self.appID = appID
        self.question = question
    }

    /// The portal keeps the answer, and no decision stands behind it.
    var isOfPortal: Bool { question.permission == nil }

    /// Of the id, byte for byte.
    public var exactID: ExactText { ExactText(appID) }

    public static func == (a: PortalKey, b: PortalKey) -> Bool {
        a.question == b.question && a.exactID == b.exactID
    }
}

/// Decisions and rules at this moment.
public protocol PortalJudge {
    /// Whether the portals' store may say that: a decision or a rule says so too.
    func stands(_ verdict: Verdict, for key: PortalKey) -> Bool
}

public enum PortalEffect: Sendable, Hashable {
    /// Delete the entry; then say ``PortalSyncRule/took(_:isGone:at:by:)``.
    case takeBack(PortalKey)
    /// Another program wrote it: make it a decision; then say ``PortalSyncRule/adopted(_:)`` or ``PortalSyncRule/notAdopted(_:)``.
    case adopt(PortalKey, Verdict)
    /// Another program deleted it: forget the decision.
    case forget(PortalKey)
    /// Nothing of ours is in the portals' store any more.
    case dropRow(PortalKey)
}

public struct PortalSyncRule {
    /// Milliseconds in which a portal stores what it was answered: it does so at once, on a busy machine a little later.
    static let echoTime: Int64 = 10_000
    /// Milliseconds in which a portal may write anew what it read before we deleted it.
    static let rewriteTime: Int64 = 5_000

    private struct Echo {
        let verdict: Verdict
        let deadline: Int64
        /// Nobody said that: the dialog went away without an answer.
        let isUnsaid: Bool
    }

    /// What we answered and the portal may have stored.
    private var given: [PortalKey: Verdict]
    /// What is in the store; nil while that is not known.
    private var stored: [PortalKey: Verdict]?
    private var echoes: [PortalKey: [Echo]] = [:]
    private var takenBack: [PortalKey: (verdict: Verdict, until: Int64)] = [:]
    private var deleting: Set<PortalKey> = []
    private var adopting: Set<PortalKey> = []
    /// Could not be written as decisions.
    private var unadopted: Set<PortalKey> = []

    /// - Parameter given: what earlier runs answered.
    public init(given: [PortalKey: Verdict]) { self.given = given }

    // MARK: Events

    /// A dialog is about to be answered; nil: nobody said anything, which a portal stores as a no.
    public mutating func answers(_ key: PortalKey, _ verdict: Verdict?, at uptime: Int64) {
        let word = verdict ?? .deny
        if !key.isOfPortal { given[key] = word }
        echoes[key, default: []].removeAll { $0.deadline <= uptime }
        echoes[key, default: []].append(
            Echo(verdict: word, deadline: uptime + PortalSyncRule.echoTime, isUnsaid: verdict == nil))
    }

    /// The store is there, with these entries of decisions' permissions.
    public mutating func looked(
        _ entries: [PortalKey: Verdict], at uptime: Int64, by judge: some PortalJudge
    ) -> [PortalEffect] {
        var effects: [PortalEffect] = []
        stored = entries
        for key in given.keys.sorted() where entries[key] == nil && !isEchoDue(key, uptime) {
            given[key] = nil
            effects.append(.dropRow(key))
        }
        for (key, verdict) in entries.sorted(by: { $0.key < $1.key }) where given[key] != verdict {
            // Of two that differ, the refusal wins.
            if judge.stands(verdict, for: key) || verdict == .grant && judge.stands(.deny, for: key) { continue }
            effects += adopt(key, verdict)
        }
        return effects + review(at: uptime, by: judge)
    }

    /// The store went away.
    public mutating func lost() {
        stored = nil
        deleting = []
    }

    /// One id of the store has these entries now.
    public mutating func changed(
        _ question: Question, _ entries: [ExactText: Verdict], at uptime: Int64, by judge: some PortalJudge
    ) -> [PortalEffect] {
        guard let known = stored else { return [] }
        var effects: [PortalEffect] = []
        let before = known.filter { $0.key.question == question }
        let apps = Set(before.keys.map(\.exactID)).union(entries.keys)
        for app in apps.sorted() {
            let key = PortalKey(appID: app.text, question: question)
            guard before[key] != entries[app] else { continue }
            stored?[key] = entries[app]
            if let verdict = entries[app] {
                effects += written(key, verdict, uptime)
            } else {
                effects += deleted(key, uptime)
            }
        }
        return effects + review(at: uptime, by: judge)
    }

    /// Decisions or rules are not what they were.
    public mutating func review(at uptime: Int64, by judge: some PortalJudge) -> [PortalEffect] {
        // Of an entry that cannot be seen, what we answered is what may be there.
        let entries = (stored ?? given).sorted { $0.key < $1.key }
        return entries.flatMap { key, verdict -> [PortalEffect] in
            guard !key.isOfPortal, !adopting.contains(key), !judge.stands(verdict, for: key) else {
                return []
            }
            return takeBack(key, verdict, uptime)
        }
    }

    /// An order to take back was carried out, or could not be: then it waits for the next event.
    public mutating func took(
        _ key: PortalKey, isGone: Bool, at uptime: Int64, by judge: some PortalJudge
    ) -> [PortalEffect] {
        guard deleting.remove(key) != nil, isGone else { return [] }
        if stored == nil { return given.removeValue(forKey: key) == nil ? [] : [.dropRow(key)] }
        // The portal may have written it anew meanwhile.
        return review(at: uptime, by: judge)
    }

    /// An entry has become a decision, or a later decision has taken its place.
    @discardableResult
    public mutating func adopted(_ key: PortalKey) -> [PortalEffect] {
        adopting.remove(key)
        unadopted.remove(key)
        // Deleted again before it was written.
        guard let stored, stored[key] == nil, given[key] == nil else { return [] }
        return [.forget(key)]
    }

    /// It could not be written as a decision: it is left alone until it is tried again.
    public mutating func notAdopted(_ key: PortalKey) { unadopted.insert(key) }

    /// Decisions can be written again.
    public mutating func adoptAgain() -> [PortalEffect] {
        let keys = unadopted.sorted()
        unadopted = []
        return keys.compactMap { key in
            guard let verdict = stored?[key] else {
                adopting.remove(key)
                return nil
            }
            return .adopt(key, verdict)
        }
    }

    // MARK: What happened to an entry

    private mutating func written(_ key: PortalKey, _ verdict: Verdict, _ uptime: Int64) -> [PortalEffect] {
        if let index = echoes[key]?.firstIndex(where: { $0.verdict == verdict && $0.deadline > uptime }),
            let echo = echoes[key]?.remove(at: index)
        {
            return key.isOfPortal && echo.isUnsaid ? takeBack(key, verdict, uptime) : []
        }
        if key.isOfPortal { return [] }
        if let back = takenBack[key], back.verdict == verdict, back.until > uptime { return [] }
        var effects = adopt(key, verdict)
        if given.removeValue(forKey: key) != nil { effects.append(.dropRow(key)) }
        return effects
    }

    private mutating func deleted(_ key: PortalKey, _ uptime: Int64) -> [PortalEffect] {
        if unadopted.remove(key) != nil { adopting.remove(key) }
        let isOurs = takenBack[key].map { $0.until > uptime } ?? false
        var effects: [PortalEffect] = isOurs || key.isOfPortal ? [] : [.forget(key)]
        if !isEchoDue(key, uptime), given.removeValue(forKey: key) != nil { effects.append(.dropRow(key)) }
        return effects
    }

    private func isEchoDue(_ key: PortalKey, _ uptime: Int64) -> Bool {
        echoes[key]?.contains { $0.deadline > uptime } ?? false
    }

    private mutating func adopt(_ key: PortalKey, _ verdict: Verdict) -> [PortalEffect] {
        // Programs that share the empty id cannot be told apart; their entry is reviewed like a stale one.
        guard !key.appID.isEmpty, !key.isOfPortal else { return [] }
        adopting.insert(key)
        unadopted.remove(key)
        return [.adopt(key, verdict)]
    }

    private mutating func takeBack(_ key: PortalKey, _ verdict: Verdict, _ uptime: Int64) -> [PortalEffect] {
        guard deleting.insert(key).inserted else { return [] }
        takenBack[key] = (verdict, uptime + PortalSyncRule.rewriteTime)
        return [.takeBack(key)]
    }
}

extension PortalKey: Comparable {
    public static func < (a: PortalKey, b: PortalKey) -> Bool {
        (a.exactID, a.question) < (b.exactID, b.question)
    }
}
