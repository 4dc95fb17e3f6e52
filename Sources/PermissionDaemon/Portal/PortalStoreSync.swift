// Synchronises the portals' store (org.freedesktop.impl.portal.PermissionStore) with permd's decisions, both ways.
//
// Nothing waits for that store, and nothing fails without it. permd starts it only to delete entries, never to read.

import DBus
import Logging
import PermissionCore
import PermissionModel
import System

/// Turns what other programs write into the portals' store into decisions.
@LoopActor
protocol PortalDecisions: AnyObject {
    /// Saves an entry as a decision. Passes true once it is stored.
    func portalSettled(
        _ app: AppID, _ permission: Permission, _ verdict: Verdict, _ completion: @escaping @LoopActor (Bool) -> Void)
    /// Deletes a decision whose entry was deleted.
    func portalForgot(_ app: AppID, _ permission: Permission)
}

@LoopActor
final class PortalStoreSync {
    private static let notFound = "org.freedesktop.portal.Error.NotFound"

    /// Set before `start`.
    weak var decisions: (any PortalDecisions)?
    private let facts: CurrentFacts
    private let connection: Connection
    private let store: DecisionStore
    private let log: Logger
    private var rule = PortalSyncRule(given: [:])
    /// Apps by the ID that the portal gave.
    private var apps: [ExactText: Set<AppID>] = [:]
    /// The entries that open dialogs are about.
    private var open: Set<PortalKey> = []
    /// Callers without an app ID whose dialogs were answered, while they are on the bus.
    private var nameless: [PortalKey: [String: Caller]] = [:]
    /// Entries that could not be saved as decisions, with the decisions at that time.
    private var failures: [PortalKey: (app: AppID, permission: Permission, decision: Decision?)] = [:]
    private let name: TrustedName
    /// The unique name of the portals' store, if its owner is trusted.
    private var owner: String?

    init(
        connection: Connection, identifier: any CallerLookup, store: DecisionStore, facts: CurrentFacts, log: Logger
    ) {
        self.facts = facts
        name = TrustedName(BusNames.portalStore, connection: connection, identifier: identifier, log: log)
        self.connection = connection
        self.store = store
        self.log = log
    }

    /// - Parameter answers: Answers of permd that portals may have stored.
    func start(_ answers: [PortalVerdict]) {
        rule = PortalSyncRule(given: Dictionary(answers.map { ($0.key, $0.verdict) }) { $1 })
        for answer in answers { apps[answer.key.exactID, default: []].insert(answer.app) }
        connection.onOwnerChange(of: BusNames.portalStore) { [weak self] _ in self?.storeChanged() }
        connection.onSignal(
            sender: BusNames.portalStore, path: BusNames.portalStorePath, interface: BusNames.portalStore,
            member: "Changed"
        ) { [weak self] message in
            if let self, let owner, message.sender == owner { entriesChanged(message, owner) }
        }
        storeChanged()
        review()
    }

    /// A dialog waits or is open. If permd is killed meanwhile, the portal stores a no for the lost call, which is nobody's answer.
    func opened(_ key: PortalKey, for caller: Caller) {
        guard PortalKinds.entry(of: key.item) != nil, key.item.permission != nil, open.insert(key).inserted else {
            return
        }
        store.save(PortalVerdict(key: key, app: caller.app, verdict: .deny)) {}
    }

    /// Records the answer to a dialog before it is sent. What the portal may store is on disk when `then` is called.
    func record(
        _ key: PortalKey, for caller: Caller?, _ verdict: Verdict?, then: @escaping @LoopActor () -> Void
    ) {
        guard PortalKinds.entry(of: key.item) != nil else { return then() }
        let answer = verdict ?? .deny
        let isGiven = rule.isGiven(key, answer)
        rule.answers(key, verdict, at: Loop.uptimeMilliseconds())
        // Without a caller nobody was asked, and what the portal stores is deleted at once.
        guard key.item.permission != nil, let caller else { return then() }
        if key.appID.isEmpty { nameless[key, default: [:]][caller.connection] = caller }
        let isKnown = !apps[key.exactID, default: []].insert(caller.app).inserted
        let wasOpened = open.remove(key) != nil
        if isGiven, isKnown, !wasOpened { return then() }
        store.save(PortalVerdict(key: key, app: caller.app, verdict: answer), then: then)
    }

    /// Re-evaluates all entries after a change of decisions or rules.
    func review() { apply(rule.review(at: Loop.uptimeMilliseconds(), by: self)) }

    /// Reads all entries, for those that could not be saved as decisions. Later decisions replace these.
    func readAgain() {
        for (key, failure) in failures where store.appDecision(failure.app, failure.permission) != failure.decision {
            apply(rule.decided(key))
        }
        failures = [:]
        review()
        rule.lost()
        read()
    }

    func departed(_ name: String) {
        var isConcerned = false
        for key in nameless.keys where nameless[key]?.removeValue(forKey: name) != nil { isConcerned = true }
        if isConcerned { review() }
    }

    // MARK: The portals' store

    private func storeChanged() {
        owner = nil
        rule.lost()
        name.find { [weak self] found in
            self?.owner = found
            self?.read()
        }
    }

    private func read() {
        guard let owner else { return }
        for (item, entry) in PortalKinds.decided {
            let lookup = Message.call(
                destination: owner, path: BusNames.portalStorePath, interface: BusNames.portalStore,
                member: "Lookup", [.string(entry.table), .string(entry.id)])
            connection.call(lookup) { [weak self] result in
                switch result {
                case .success(let message): self?.found(message.body.first, of: item, owner)
                case .failure(let error) where error.name == PortalStoreSync.notFound:
                    self?.found(nil, of: item, owner)
                case .failure: break
                }
            }
        }
    }

    /// `Changed(table s, id s, deleted b, data v, permissions a{sas})`
    private func entriesChanged(_ message: Message, _ owner: String) {
        guard message.body.count == 5, let table = message.body[0].stringValue, let id = message.body[1].stringValue,
            let item = PortalKinds.item(at: PortalKinds.StoreEntry(table: table, id: id))
        else { return }
        found(message.body[2].boolValue == true ? nil : message.body[4], of: item, owner)
    }

    /// All entries of a question. Replies and signals come in the order of the changes.
    private func found(_ permissions: Value?, of item: PromptItem, _ owner: String) {
        guard self.owner == owner else { return }
        apply(
            rule.found(PortalKinds.verdicts(permissions, of: item), of: item, at: Loop.uptimeMilliseconds(), by: self))
    }

    // MARK: Effects

    private func apply(_ effects: [PortalEffect]) {
        for effect in effects {
            switch effect {
            case .takeBack(let key): takeBack(key)
            case .decide(let key, let verdict): decide(key, verdict)
            case .forget(let key):
                guard let permission = key.item.permission else { continue }
                for app in apps(of: key.exactID) { decisions?.portalForgot(app, permission) }
            case .dropRow(let key): store.removePortalAnswer(key)
            }
        }
    }

    private func takeBack(_ key: PortalKey) {
        guard let entry = PortalKinds.entry(of: key.item) else { return }
        name.find(starts: true) { [weak self] owner in
            guard let owner else {
                self?.deletionEnded(
                    key, .failure(BusError(name: BusError.Name.nameHasNoOwner, message: "there is no store")))
                return
            }
            let order = Message.call(
                destination: owner, path: BusNames.portalStorePath, interface: BusNames.portalStore,
                member: "DeletePermission", [.string(entry.table), .string(entry.id), .string(key.appID)])
            self?.connection.call(order) { [weak self] in self?.deletionEnded(key, $0) }
        }
    }

    private func deletionEnded(_ key: PortalKey, _ result: Result<Message, BusError>) {
        var isGone = true
        if case .failure(let error) = result, error.name != PortalStoreSync.notFound {
            isGone = false
            log.info("An answer about \(key.item.name) was not deleted from the portals' store: \(error.message)")
        }
        apply(rule.deletionEnded(key, isGone: isGone, at: Loop.uptimeMilliseconds(), by: self))
    }

    private func decide(_ key: PortalKey, _ verdict: Verdict) {
        let known = apps(of: key.exactID)
        guard let permission = key.item.permission, let app = known.first(where: \.isSandboxed) ?? known.first
        else { return }
        log.notice("Another program set \(key.item.name) for \(app) in the portals' store: \(verdict.rawValue)")
        decisions?.portalSettled(app, permission, verdict) { [weak self] isDone in
            guard let self else { return }
            guard isDone else {
                failures[key] = (app, permission, store.appDecision(app, permission))
                return
            }
            apply(rule.decided(key))
            review()
        }
    }

    // MARK: Comparing with decisions

    private func apps(of id: ExactText) -> [AppID] {
        apps[id]?.sorted() ?? [PortalApps.likely(id.text)].compactMap(\.self)
    }
}

extension PortalStoreSync: @LoopActor PortalJudge {
    func agrees(_ verdict: Verdict, for key: PortalKey) -> Bool {
        // Only the portal stores the answers to its own questions.
        guard let permission = key.item.permission else { return true }
        if key.appID.isEmpty {
            // All programs without an ID share one entry. A grant stays while one of them has it; a denial never stays.
            return verdict == .grant
                && (nameless[key] ?? [:]).values.contains {
                    facts.status(of: permission, for: $0, assumesDevice: true) == .granted
                }
        }
        let verdicts = apps(of: key.exactID).map { facts.portalVerdict(of: permission, for: $0) }
        switch verdict {
        case .grant: return verdicts.contains(.grant) && !verdicts.contains(.deny)
        case .deny: return verdicts.contains(.deny)
        }
    }
}
